package consumer

import "rivulet/infer"

// degrade marks the arrivals whose predictions may be other ones than if all rows of M had been read. An arrival with
// an unread neighbour may lack entries of r = aM and a part of D_i, and in a graph batch have an edge in ã that it
// should not have; through ã that reaches its whole connected component. In joint attachment an arrival changes the
// degrees of synthetic nodes, which all of the batch share. What is not marked is bit for bit what it would be.
func (a *attachment) degrade(joint bool, n *neighbours) {
	a.degraded = zeroed(a.degraded, len(n.rows))
	if !n.unread {
		return
	}
	reached := a.reached[:0] // marked, with neighbours in ã that may not be
	for i, rows := range n.rows {
		if joint || anyUnread(rows) {
			a.degraded[i] = true
			reached = append(reached, int32(i))
		}
	}
	for adj := a.batch.Adj; adj != nil && len(reached) > 0; {
		i := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		cols, _ := adj.Row(int(i))
		for _, j := range cols {
			if !a.degraded[j] {
				a.degraded[j] = true
				reached = append(reached, j)
			}
		}
	}
	a.reached = reached
}

func anyUnread(rows []infer.Row) bool {
	for i := range rows {
		if rows[i].Unread {
			return true
		}
	}
	return false
}
