package table

import (
	"fmt"
	"slices"
	"strings"
)

// maskNames are the names of columns that say which nodes have a role, as PyTorch Geometric, DGL and GraphStorm
// write them, in lower case.
var maskNames = map[string]string{
	"train_mask": "train", "training_mask": "train", "mask_train": "train", "is_train": "train",
	"val_mask": "val", "valid_mask": "val", "validation_mask": "val", "mask_val": "val", "mask_valid": "val",
	"is_val": "val", "is_valid": "val", "is_validation": "val",
	"test_mask": "test", "mask_test": "test", "is_test": "test",
}

// planSplit finds the columns of the role, and returns the masks among the columns that are no features.
func (c *nodeColumns) planSplit(s Settings, names []string) (masks []int, err error) {
	var found []string
	for i, name := range names {
		_, typed := s.Types[name]
		if maskNames[strings.ToLower(name)] != "" && !typed && !slices.Contains(s.Drop, name) && i != c.id && i != c.label {
			masks, found = append(masks, i), append(found, name)
		}
	}
	if several := strings.Split(s.Split, ","); len(several) > 1 && !slices.Contains(names, s.Split) {
		return masks, c.masksOf(names, several)
	}
	i, err := find(names, s.Split, "split", false)
	switch {
	case err != nil:
		return nil, err
	case i >= 0:
		c.split = []int{i}
		return masks, nil
	case len(found) == 0:
		return nil, nil
	}
	if err := c.masksOf(names, found); err != nil {
		return nil, err
	}
	if !slices.Contains(c.masks, "train") || !slices.Contains(c.masks, "test") {
		return nil, fmt.Errorf("column %s looks like the mask of a split, and the masks of the other roles are missing: "+
			"name the column of the split "+
			"(--split), drop this one (--drop %s), or say that it is a feature (--types %s=bool)", found[0], found[0], found[0])
	}
	c.guess = fmt.Sprintf("The split is the masks %s, a guess by their names; nodes in none of them are unlabelled.",
		strings.Join(found, ", "))
	return nil, nil
}

// masksOf takes columns for the masks of the roles that their names say, or else of train, val and test in this order.
func (c *nodeColumns) masksOf(names, masks []string) error {
	if len(masks) > roleMasks {
		return fmt.Errorf("columns %s are masks of more than %d roles: name the split (--split), or drop some", listed(masks),
			roleMasks)
	}
	for k, name := range masks {
		name = strings.TrimSpace(name)
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("no column %.100s among %s: say which columns are the masks of the split", name, listed(names))
		}
		role := maskNames[strings.ToLower(name)]
		if role == "" {
			role = []string{"train", "val", "test"}[k]
		}
		if slices.Contains(c.masks, role) {
			return fmt.Errorf("columns %s: two of them are masks of %s: name the split (--split), or drop one", listed(masks),
				role)
		}
		c.split, c.masks = append(c.split, i), append(c.masks, role)
	}
	return nil
}

// foundRole takes a column as the split, if no setting names one: its name is usual for a split, and all of its values
// are names of roles.
func (c *nodeColumns) foundRole(columns []*survey) {
	if len(c.split) > 0 {
		return
	}
	for k, i := range c.features {
		s := columns[i]
		if !slices.Contains(usualSplits, strings.ToLower(s.name)) || !s.roles() {
			continue
		}
		c.split = []int{i}
		c.features = slices.Delete(slices.Clone(c.features), k, k+1)
		c.guess = fmt.Sprintf("The split is the column %s, a guess by its name and values.", s.name)
		return
	}
}

// roles reports whether all values name roles, train and test among them.
func (s *survey) roles() bool {
	has := map[string]bool{}
	for value := range s.distinct {
		role, known := splitNames[strings.ToLower(value)]
		if !known {
			return false
		}
		has[role] = true
	}
	return has["train"] && has["test"]
}
