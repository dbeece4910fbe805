package demo

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"rivulet/config"
	"rivulet/event"
	"rivulet/internal/observe"
	"rivulet/internal/replay"
)

// labelsTopic is the topic of the arrivals' classes.
const labelsTopic = "labels"

// Labels are the consumer's figures of its own predictions, by the labels that it read.
type Labels struct {
	Published int     `json:"published"` // labels, each some time after the prediction of its arrival was read
	Matched   int     `json:"matched"`   // predictions that the consumer compared with them
	Accuracy  float64 `json:"accuracy"`  // of these, in percent

	Window         int     `json:"window"`          // the last 3840 to 4096 of them, as in the consumer's metrics
	WindowAccuracy float64 `json:"window_accuracy"` // in percent
	WindowECE      float64 `json:"window_ece"`      // expected calibration error in 15 bins, in percent
}

// labelsOf returns the figures in percent.
func labelsOf(published int, f observe.LabelFigures) *Labels {
	return &Labels{Published: published, Matched: f.Matched, Accuracy: 100 * float64(f.Right) / float64(max(1, f.Matched)),
		Window: f.Window, WindowAccuracy: 100 * f.Accuracy, WindowECE: 100 * f.ECE}
}

// text returns the figures in words.
func (l *Labels) text() string {
	return fmt.Sprintf("%.2f%% of %d labelled; of the last %d: %.2f%%, calibration error %.2f%%",
		l.Accuracy, l.Matched, l.Window, l.WindowAccuracy, l.WindowECE)
}

// labeller publishes true classes: once a prediction has been read, the class of its arrival goes to the
// topic of labels, if it is known.
type labeller struct {
	classes map[string]int32
	due     chan string // ids whose predictions have been read; it has room for all arrivals
	now     func() time.Time

	mu        sync.Mutex
	taken     map[string]bool // predicted once already
	published map[string]bool
}

// newLabeller returns a labeller that knows the classes of nodes by id.
func newLabeller(classes map[string]int32, now func() time.Time) *labeller {
	return &labeller{classes: classes, due: make(chan string, len(classes)), now: now, taken: map[string]bool{},
		published: map[string]bool{}}
}

// predicted takes the id of a prediction that was read.
func (l *labeller) predicted(id string) {
	if _, known := l.classes[id]; !known {
		return
	}
	l.mu.Lock()
	again := l.taken[id]
	l.taken[id] = true
	l.mu.Unlock()
	if !again {
		l.due <- id
	}
}

// count returns the number of published labels.
func (l *labeller) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.published)
}

// expected returns the number of labels to publish for the arrivals predicted so far.
func (l *labeller) expected() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taken)
}

// has reports whether the known labels of these ids have been published.
func (l *labeller) has(ids []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(ids, func(id string) bool {
		_, known := l.classes[id]
		return known && !l.published[id]
	})
}

// run publishes labels until ctx ends.
func (l *labeller) run(ctx context.Context, brokers config.Brokers, log *slog.Logger) error {
	topic, end, err := openTopic(brokers, labelsTopic, log)
	if err != nil {
		return err
	}
	defer end()
	for {
		select {
		case <-ctx.Done():
			return nil
		case first := <-l.due:
			if err := l.publish(ctx, topic, first); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("publishing labels: %w", err)
			}
		}
	}
}

// publish sends the label of an id, and the labels of all ids that wait.
func (l *labeller) publish(ctx context.Context, topic *replay.Topic, first string) error {
	label := func(id string) event.Label { return event.Label{ID: id, Class: int(l.classes[id]), Time: l.now()} }
	labels := []event.Label{label(first)}
	for more := len(l.due); more > 0 && len(labels) < chunk; more-- {
		labels = append(labels, label(<-l.due))
	}
	if err := topic.SendLabels(ctx, labels); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range labels {
		l.published[labels[k].ID] = true
	}
	return nil
}
