package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Right is something that a user may do with a resource of that name.
type Right struct {
	User     string
	Resource kmsg.ACLResourceType
	Name     string
	Op       kmsg.ACLOperation
}

// Allow gives a user a right, and returns when the broker has heard of it from the controller.
func (k *Kafka) Allow(ctx context.Context, r Right) error {
	request, creation := kmsg.NewPtrCreateACLsRequest(), kmsg.NewCreateACLsRequestCreation()
	creation.ResourceType, creation.ResourceName, creation.ResourcePatternType = r.Resource, r.Name, kmsg.ACLResourcePatternTypeLiteral
	creation.Principal, creation.Host, creation.Operation, creation.PermissionType = "User:"+r.User, "*", r.Op, kmsg.ACLPermissionTypeAllow
	request.Creations = append(request.Creations, creation)
	answer, err := request.RequestWith(ctx, k.client)
	if err != nil {
		return err
	}
	for _, result := range answer.Results {
		if err := kerr.ErrorForCode(result.ErrorCode); err != nil {
			return fmt.Errorf("allowing %+v: %w", r, err)
		}
	}
	asked := kmsg.NewPtrDescribeACLsRequest()
	principal, host := r.principal()
	asked.ResourceType, asked.ResourceName, asked.ResourcePatternType = r.Resource, &r.Name, kmsg.ACLResourcePatternTypeLiteral
	asked.Principal, asked.Host, asked.Operation, asked.PermissionType = principal, host, r.Op, kmsg.ACLPermissionTypeAllow
	return Await(ctx, 10*time.Second, fmt.Sprintf("%+v is allowed", r), func() bool {
		answer, err := asked.RequestWith(ctx, k.client)
		return err == nil && len(answer.Resources) > 0
	})
}

// Forbid takes a right away.
func (k *Kafka) Forbid(ctx context.Context, r Right) error {
	request, filter := kmsg.NewPtrDeleteACLsRequest(), kmsg.NewDeleteACLsRequestFilter()
	filter.ResourceType, filter.ResourceName, filter.ResourcePatternType = r.Resource, &r.Name, kmsg.ACLResourcePatternTypeLiteral
	filter.Principal, filter.Host = r.principal()
	filter.Operation, filter.PermissionType = r.Op, kmsg.ACLPermissionTypeAllow
	request.Filters = append(request.Filters, filter)
	_, err := request.RequestWith(ctx, k.client)
	return err
}

func (r Right) principal() (user, host *string) {
	user, host = new(string), new(string)
	*user, *host = "User:"+r.User, "*"
	return user, host
}
