package mapping

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Client is what is asked of a client of Redis, which [Connect] makes. Packages name it in place of
// redis.UniversalClient, through which the compiler reaches the clients' structs: it then compiles their thousand
// methods again in each package, which takes more than all else there.
type Client interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
	Close() error
}

// EachMaster calls do once for a client of one server, and for each master of a cluster: then at the same time.
func EachMaster(ctx context.Context, client Client, do func(ctx context.Context, node Client) error) error {
	if cluster, is := client.(*redis.ClusterClient); is {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return do(ctx, node) })
	}
	return do(ctx, client)
}
