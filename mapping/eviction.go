package mapping

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// ErrEvicts means that Redis may remove any key when its memory is full, and so rows of M.
var ErrEvicts = errors.New("Redis may evict rows of M")

// ErrFull means that Redis takes no writes because its memory is full; see [TakesNoWrites].
var ErrFull = errors.New("Redis takes no writes: its memory is full")

// policyName is the name of the setting maxmemory-policy in INFO. CONFIG has it, too, but managed services refuse
// CONFIG.
const policyName = "maxmemory_policy"

// CheckEviction asks what Redis does when its memory is full. A policy that removes any key (allkeys-…) is an
// [ErrEvicts], which is [Refused]. found names the policy, the used memory and its limit; warning, if not empty, says
// why the policy is bad or not known, or that the memory is full. Another error comes from the connection. On a cluster
// all masters are asked.
func CheckEviction(ctx context.Context, client Client) (found, warning string, err error) {
	policies, memory, full, err := evictionPolicies(ctx, client)
	switch {
	case startsWith(err, []string{"section ("}):
		return "the embedded server evicts nothing", "", nil
	case Refused(err) && !startsWith(err, badLogin):
		return "maxmemory-policy is not known",
			fmt.Sprintf("whether Redis evicts rows of M is not known: INFO memory is not allowed (%v)", err), nil
	case err != nil:
		return "", "", fmt.Errorf("asking for maxmemory-policy: %w", err)
	}
	found = "maxmemory-policy " + strings.Join(policies, ", ") + ", " + strings.Join(memory, ", ")
	for _, policy := range policies {
		switch {
		case strings.HasPrefix(policy, "allkeys-"):
			return found, "", Refusal{fmt.Errorf("%w: maxmemory-policy is %s", ErrEvicts, policy)}
		case policy == "":
			warning = "whether Redis evicts rows of M is not known: INFO memory says no " + policyName
		case policy != "noeviction":
			warning = fmt.Sprintf("maxmemory-policy is %s: when its memory is full Redis removes rows of arrivals, which "+
				"expire; noeviction is better", policy)
		}
	}
	if full {
		warning = ErrFull.Error()
		found += ", " + warning
	}
	return found, warning, nil
}

// evictionPolicies returns the different policies of all masters, their memory, and whether a master's memory is full.
func evictionPolicies(ctx context.Context, client Client) (policies, memory []string, full bool, err error) {
	var mu sync.Mutex
	seen := map[string]bool{}
	err = EachMaster(ctx, client, func(ctx context.Context, node Client) error {
		info, err := node.Info(ctx, "memory").Result()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if policy := infoOf(info, policyName); !seen[policy] {
			seen[policy] = true
			policies = append(policies, policy)
		}
		used, _ := strconv.ParseInt(infoOf(info, "used_memory"), 10, 64)
		most, _ := strconv.ParseInt(infoOf(info, "maxmemory"), 10, 64)
		limit := "no maxmemory"
		if most > 0 {
			limit = fmt.Sprintf("maxmemory %.1f MB", float64(most)/1e6)
		}
		memory = append(memory, fmt.Sprintf("%.1f MB used, %s", float64(used)/1e6, limit))
		full = full || most > 0 && used >= most
		return nil
	})
	return policies, memory, full, err
}

// infoOf finds a value in an answer to INFO.
func infoOf(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
