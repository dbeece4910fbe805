// Package expect says in one line what most tests say after most calls: that there was no error, or which one, and that
// two values are the same.
package expect

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// T is a test or a benchmark, and a property of package rapid.
type T interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// OK ends the test where there is an error.
func OK(t T, err error) {
	if err != nil {
		t.Helper() // walks the stack, which benchmarks would measure
		t.Fatal(err)
	}
}

// Same fails the test where a value is not the wanted one, and shows their difference. what, a format for args, names
// the value.
func Same(t T, want, got any, what string, args ...any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // cmp is slow
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(what, args...), diff)
	}
}

// Error fails the test unless there is an error that says this. of, a format and its args, names what was tried.
func Error(t T, err error, says string, of ...any) {
	if err != nil && strings.Contains(err.Error(), says) {
		return
	}
	t.Helper()
	what := ""
	if len(of) > 0 {
		what = fmt.Sprintf(of[0].(string), of[1:]...) + ": "
	}
	t.Errorf("%serror %v, want one that says %q", what, err, says)
}

// ErrorOf is the error of a call that also returns a value.
func ErrorOf[V any](_ V, err error) error { return err }
