package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	json "github.com/go-json-experiment/json"

	"rivulet/consumer"
)

// refusal is an answer to a request that gets none of its predictions.
type refusal struct {
	status         int
	reason, detail string
}

// Error returns the detail.
func (e *refusal) Error() string { return e.detail }

// refused is a refusal whose detail is formatted.
func refused(status int, reason, format string, values ...any) *refusal {
	return &refusal{status, reason, fmt.Sprintf(format, values...)}
}

// Reasons of refusals, beside the reasons of dead letters.
const (
	reasonOverloaded = "overloaded"           // 429
	reasonTooMany    = "too_many"             // 413: arrivals of a request
	reasonTooLarge   = "too_large"            // 413: the body
	reasonMalformed  = "unparsable"           // 400
	reasonMediaType  = "content_type"         // 415
	reasonNoVersion  = "no_version"           // 503
	reasonRows       = "rows_unavailable"     // 503
	reasonFeatures   = "features_unavailable" // 503
	reasonTimeout    = "timeout"              // 504; 408 where the body did not come
	reasonInternal   = "internal"             // 500
	reasonSkipped    = "skipped"              // an arrival's record that input.mapping passes over
)

// retryAfter is the number of seconds that a client is asked to wait, by status.
var retryAfter = map[int]int{http.StatusTooManyRequests: 1, http.StatusServiceUnavailable: 2}

// statusGone is counted if the client left before its answer; nobody reads it.
const statusGone = 499

// because describes how an error of the path is answered.
func because(err error) *refusal {
	var known *refusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, consumer.ErrNoVersion):
		return &refusal{http.StatusServiceUnavailable, reasonNoVersion, consumer.ErrNoVersion.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{http.StatusGatewayTimeout, reasonTimeout,
			"there was no answer in the time that serve.timeout gives a request"}
	case errors.Is(err, context.Canceled):
		return &refusal{statusGone, reasonTimeout, "the client left"}
	case errors.Is(err, consumer.ErrLookup):
		return &refusal{http.StatusServiceUnavailable, reasonRows, "rows of M of neighbours cannot be read from Redis now"}
	case errors.Is(err, consumer.ErrFeatures):
		return &refusal{http.StatusServiceUnavailable, reasonFeatures, "features by id cannot be read from Redis now"}
	}
	return &refusal{http.StatusInternalServerError, reasonInternal, "the server could not answer; its log says why"}
}

// errorJSON is an error as /predict and /explain answer it: of a request, or of one arrival.
type errorJSON struct {
	Error struct {
		Reason string `json:"reason"`
		Detail string `json:"detail"`
	} `json:"error"`
}

func errorText(reason, detail string) []byte {
	var e errorJSON
	e.Error.Reason, e.Error.Detail = reason, detail
	// Details repeat parts of records, which need not be UTF-8.
	text, err := json.Marshal(e, allowInvalid)
	if err != nil {
		panic(err) // it is a struct of texts
	}
	return text
}

// fail answers an error.
func fail(w http.ResponseWriter, e *refusal) {
	if seconds := retryAfter[e.status]; seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	reply(w, e.status, errorText(e.reason, e.detail))
}

// reply answers a JSON document.
func reply(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone is no error of ours
}
