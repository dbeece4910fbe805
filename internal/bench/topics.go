package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/config"
)

// partitions of each topic.
const partitions = 4

// topics makes the topics and names the groups of a run.
type topics struct {
	admin *kadm.Client
	name  string // begins all names
	made  int
	left  []string // topics to be deleted at the end
	used  []string // groups to be deleted at the end
}

func openTopics(b config.Brokers) (*topics, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers...), kgo.ClientID(b.ClientID))
	if err != nil {
		return nil, err
	}
	return &topics{admin: kadm.NewClient(client), name: fmt.Sprintf("rivulet-bench-%d", time.Now().UnixNano())}, nil
}

// topic makes one.
func (t *topics) topic(ctx context.Context, purpose string) (string, error) {
	t.made++
	name := fmt.Sprintf("%s-%d-%s", t.name, t.made, purpose)
	answer, err := t.admin.CreateTopic(ctx, partitions, -1, nil, name)
	if err = errors.Join(err, answer.Err); err != nil {
		return "", fmt.Errorf("making the topic %s: %w", name, err)
	}
	t.left = append(t.left, name)
	return name, nil
}

// group returns the name of a group that nobody has used.
func (t *topics) group() string {
	t.made++
	name := fmt.Sprintf("%s-group-%d", t.name, t.made)
	t.used = append(t.used, name)
	return name
}

// drop deletes topics whose records are not needed any more, so that brokers do not fill with them.
func (t *topics) drop(ctx context.Context, names ...string) error {
	_, err := t.admin.DeleteTopics(ctx, names...)
	return err
}

// close deletes what is left.
func (t *topics) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	_, err := t.admin.DeleteTopics(ctx, t.left...) // a topic that was dropped before is no error of the call
	_, err2 := t.admin.DeleteGroups(ctx, t.used...)
	t.admin.Close()
	return errors.Join(err, err2)
}
