package ledger

import "sync"

// TransactionSize is the number of arrivals that a transaction has.
const TransactionSize = 3

// Transactions are those in which arrivals are written. The arrivals of one that is committed count as sent when that
// is acknowledged. A fault may take the acknowledgement: then each counts when it is read, because only the brokers
// know.
type Transactions struct {
	mu                 sync.Mutex
	read               map[string]int // arrivals that were read, by transaction, before its commit was acknowledged
	counted            map[string]bool
	committed, aborted int
}

// Aborted records that a transaction was aborted.
func (t *Transactions) Aborted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aborted += TransactionSize
}

// Committed records that a transaction was committed, and returns how many of its arrivals do not count as sent yet.
func (t *Transactions) Committed(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counted == nil {
		t.counted = map[string]bool{}
	}
	t.counted[name] = true
	t.committed += TransactionSize
	return TransactionSize - t.read[name]
}

// Read records that an arrival was read, of a transaction unless its name is empty, and reports whether it is to be
// counted as sent now.
func (t *Transactions) Read(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name == "" || t.counted[name] {
		return false
	}
	if t.read == nil {
		t.read = map[string]int{}
	}
	t.read[name]++
	return true
}

// Counts returns how many arrivals were committed and aborted, as far as that was acknowledged.
func (t *Transactions) Counts() (committed, aborted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.committed, t.aborted
}
