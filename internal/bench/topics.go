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
	client *kadm.Client
	name   string // begins all names
	made   int
	left   []string // topics to be deleted at the end
	used   []string // groups to be deleted at the end
}

func openTopics(b config.Brokers) (*topics, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers...), kgo.ClientID(b.ClientID))
	if err != nil {
		return nil, err
	}
	return &topics{client: kadm.NewClient(client), name: fmt.Sprintf("rivulet-bench-%d", time.Now().UnixNano())}, nil
}

// topic makes one.
func (t *topics) topic(ctx context.Context, purpose string) (string, error) {
	t.made++
	name := fmt.Sprintf("%s-%d-%s", t.name, t.made, purpose)
	if _, err := t.client.CreateTopic(ctx, partitions, -1, nil, name); err != nil {
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

// drop deletes topics whose records are not needed any more, so that brokers do not fill with them. A topic that was
// deleted before is no error.
func (t *topics) drop(ctx context.Context, names ...string) error {
	ctx, done := tidying(ctx)
	defer done()
	_, err := t.client.DeleteTopics(ctx, names...)
	return err
}

// close deletes the topics that are left.
func (t *topics) close(ctx context.Context) error {
	ctx, done := tidying(ctx)
	defer done()
	err := t.drop(ctx, t.left...)
	_, err2 := t.client.DeleteGroups(ctx, t.used...)
	t.client.Close()
	return errors.Join(err, err2)
}

// tidying returns a context for removing a run's leftovers, also after the run was interrupted. It does not wait long
// for brokers that have gone, too.
func tidying(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}
