package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rivulet/kafka"
)

// partitions of each topic.
const partitions = 4

// topics makes the topics and names the groups of a run.
type topics struct {
	client *kafka.Client
	name   string // begins all names
	made   int
	left   []string // topics to be deleted at the end
	used   []string // groups to be deleted at the end
}

func newTopics(client *kafka.Client) *topics {
	return &topics{client: client, name: fmt.Sprintf("rivulet-bench-%d", time.Now().UnixNano())}
}

// topic makes one.
func (t *topics) topic(ctx context.Context, purpose string) (string, error) {
	t.made++
	name := fmt.Sprintf("%s-%d-%s", t.name, t.made, purpose)
	if err := t.client.CreateTopic(ctx, name, partitions); err != nil {
		return "", err
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
	ctx, done := tidying(ctx)
	defer done()
	t.left = slices.DeleteFunc(t.left, func(name string) bool { return slices.Contains(names, name) })
	return t.client.DeleteTopics(ctx, names...)
}

// close deletes the topics that are left, and the groups.
func (t *topics) close(ctx context.Context) error {
	err := t.drop(ctx, slices.Clone(t.left)...)
	ctx, done := tidying(ctx)
	defer done()
	for _, group := range t.used {
		err = errors.Join(err, t.client.DeleteGroup(ctx, group))
	}
	return err
}

// tidying returns a context for removing a run's leftovers, also after the run was interrupted. It does not wait long
// for brokers that have gone, too.
func tidying(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}
