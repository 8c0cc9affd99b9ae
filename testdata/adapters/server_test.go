package adapters

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A server refuses the first requests of each call with 429 and answers the next
// one with 200. It is an http.RoundTripper for the tests in a bubble, and an
// http.Handler for the test over the network.
type server struct {
	refusals int                             // how many requests of a call are refused
	header   func(now time.Time) http.Header // of a refusal

	mu       sync.Mutex
	arrivals []time.Time // of the requests of this call
	open     int         // bodies that are not closed yet
	closed   int
}

func (s *server) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.arrivals = append(s.arrivals, now)
	w.Header().Set("Content-Type", "application/json")
	if len(s.arrivals) <= s.refusals {
		for name, values := range s.header(now) {
			w.Header()[name] = values
		}
		w.WriteHeader(http.StatusTooManyRequests)
	}
	io.WriteString(w, `{"ok": true}`)
}

// RoundTrip answers without a network. Only the header fields of the server are
// there: ServeHTTP alone decides about Date.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, req)
	resp := recorder.Result()
	resp.Request = req
	resp.Body = &countedBody{ReadCloser: resp.Body, server: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return resp, nil
}

// A countedBody tells its server when it is closed for the first time.
type countedBody struct {
	io.ReadCloser
	server *server
	once   sync.Once
}

func (b *countedBody) Close() error {
	b.once.Do(func() {
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		b.server.open--
		b.server.closed++
	})
	return b.ReadCloser.Close()
}

// restart begins a new call.
func (s *server) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals = nil
}

// waits returns the times between the requests of this call.
func (s *server) waits() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var waits []time.Duration
	for i := 1; i < len(s.arrivals); i++ {
		waits = append(waits, s.arrivals[i].Sub(s.arrivals[i-1]))
	}
	return waits
}

// field returns the header of a refusal whose Retry-After has these values, with a
// Date by the server's clock.
func field(values ...string) func(time.Time) http.Header {
	return func(now time.Time) http.Header {
		return http.Header{"Retry-After": values, "Date": {httpDate(now)}}
	}
}

// dateIn30s returns the header of a refusal until a date 30 s ahead by the server's
// clock. The client's clock is ahead of that clock by skew.
func dateIn30s(skew time.Duration) func(time.Time) http.Header {
	return func(now time.Time) http.Header {
		now = now.Add(-skew)
		return http.Header{
			"Date":        {httpDate(now)},
			"Retry-After": {httpDate(now.Add(30 * time.Second))},
		}
	}
}

func httpDate(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// inBubble runs a subtest in which time passes only while everybody waits. It fails
// if a goroutine remains.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
