package mapping

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Client has the methods that are used of a Redis client ([Connect]). Packages name it in place of
// redis.UniversalClient, through which the compiler would reach the clients' structs and compile their thousand methods
// again in each package: more time than everything else there.
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

// OneServer reports whether a client is one of a single server. That runs the commands of a pipeline in their order;
// the nodes of a cluster run their parts side by side.
//
//go:noinline // inlined, it would have those methods compiled in each package that asks
func OneServer(client Client) bool {
	_, one := client.(*redis.Client)
	return one
}
