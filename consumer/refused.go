package consumer

import (
	"rivulet/event"
	"rivulet/kafka"
)

// refusals are the records of a batch that the brokers refused for their content, such as their size.
type refusals struct {
	dropped []string // why, for each record in whose place nothing was published
}

// amend returns the batch as it was delivered: without the refused predictions, with the dead letters that replaced
// them. A refused arrival gets no row: nobody knows of it.
func (b *batch) amend(by []kafka.Refusal) event.Batch {
	out := b.output()
	b.refused.dropped = b.refused.dropped[:0]
	if len(by) == 0 {
		return out
	}
	n, gone := len(out.Predictions), make(map[int]bool, len(by))
	replaced := make(map[int]error)
	for _, r := range by {
		gone[r.Place] = true
		if r.Replaced {
			replaced[r.Place] = r.Err
		} else {
			b.refused.dropped = append(b.refused.dropped, r.Reason())
		}
	}
	var delivered event.Batch
	var unanswered []int32 // arrivals
	place := 0
	for i, s := range b.decoded.arrivals {
		if b.predicted.withdrawn[i] {
			continue
		}
		if !gone[place] {
			delivered.Predictions = append(delivered.Predictions, out.Predictions[place])
			delivered.Answered = append(delivered.Answered, out.Answered[place])
		} else if unanswered = append(unanswered, int32(i)); replaced[place] != nil {
			letter := s.deadLetter(event.ReasonPredictionRefused, replaced[place].Error())
			delivered.DeadLetters = append(delivered.DeadLetters, letter)
		}
		place++
	}
	for k := range out.DeadLetters {
		if !gone[n+k] {
			delivered.DeadLetters = append(delivered.DeadLetters, out.DeadLetters[k])
		}
	}
	b.growth.leaveOut(unanswered)
	return delivered
}
