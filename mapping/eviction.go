package mapping

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// ErrEvicts means that Redis may remove any key when its memory is full, and so rows of M.
var ErrEvicts = errors.New("Redis may evict rows of M")

// policyName is what INFO calls the setting maxmemory-policy. CONFIG says it, too, but managed services refuse that.
const policyName = "maxmemory_policy"

// CheckEviction asks what Redis does when its memory is full. A policy that removes any key (allkeys-…) is an
// [ErrEvicts], which is [Refused]. found says what the policy is; warning, if not empty, why it is not a good one or
// not known. Another error comes from the connection. On a cluster all masters are asked.
func CheckEviction(ctx context.Context, client Client) (found, warning string, err error) {
	policies, err := evictionPolicies(ctx, client)
	switch {
	case startsWith(err, []string{"section ("}):
		return "the embedded server evicts nothing", "", nil
	case Refused(err) && !startsWith(err, badLogin):
		return "maxmemory-policy is not known", fmt.Sprintf("whether Redis evicts rows of M is not known: INFO memory is not allowed (%v)", err), nil
	case err != nil:
		return "", "", fmt.Errorf("asking for maxmemory-policy: %w", err)
	}
	found = "maxmemory-policy " + strings.Join(policies, ", ")
	for _, policy := range policies {
		switch {
		case strings.HasPrefix(policy, "allkeys-"):
			return found, "", Refusal{fmt.Errorf("%w: maxmemory-policy is %s", ErrEvicts, policy)}
		case policy == "":
			warning = "whether Redis evicts rows of M is not known: INFO memory says no " + policyName
		case policy != "noeviction":
			warning = fmt.Sprintf("maxmemory-policy is %s: when its memory is full Redis removes rows of arrivals, which expire; noeviction is better", policy)
		}
	}
	return found, warning, nil
}

// evictionPolicies returns the different policies of all masters.
func evictionPolicies(ctx context.Context, client Client) (policies []string, err error) {
	var mu sync.Mutex
	seen := map[string]bool{}
	err = EachMaster(ctx, client, func(ctx context.Context, node Client) error {
		info, err := node.Info(ctx, "memory").Result()
		mu.Lock()
		defer mu.Unlock()
		if policy := policyOf(info); err == nil && !seen[policy] {
			seen[policy] = true
			policies = append(policies, policy)
		}
		return err
	})
	return policies, err
}

// policyOf finds the policy in an answer to INFO memory.
func policyOf(info string) string {
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(line, policyName+":"); ok {
			return strings.TrimSpace(policy)
		}
	}
	return ""
}
