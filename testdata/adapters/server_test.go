package adapters

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A server refuses the first requests of each call with 429 and answers the next one
// with 200. The path of a request begins with the number of its call. A server is an
// http.RoundTripper for tests in a bubble, and an http.Handler for tests with a network.
type server struct {
	refusals int                             // how many requests of a call are refused
	header   func(now time.Time) http.Header // of a refusal
	broken   bool                            // in RoundTrip, a refusal is an error and no response

	mu       sync.Mutex
	arrivals map[string][]time.Time // of the requests of each call
	open     int                    // bodies that are not closed
}

// refusing returns a server that refuses the first requests of each call.
func refusing(refusals int, header func(now time.Time) http.Header) *server {
	return &server{refusals: refusals, header: header, arrivals: map[string][]time.Time{}}
}

func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, call := time.Now(), strings.Split(req.URL.Path, "/")[1]
	s.arrivals[call] = append(s.arrivals[call], now)
	w.Header().Set("Content-Type", "application/json")
	if len(s.arrivals[call]) <= s.refusals {
		for name, values := range s.header(now) {
			w.Header()[name] = values
		}
		w.WriteHeader(http.StatusTooManyRequests)
	}
	io.WriteString(w, `{"ok": true}`)
}

// RoundTrip answers without a network. The response has only the header fields that
// ServeHTTP sets, so it has a Date only if s.header sets one.
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
	if s.broken && resp.StatusCode != http.StatusOK {
		return nil, errors.New("connection reset")
	}
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
	})
	return b.ReadCloser.Close()
}

// A result is what a call did and what its caller got.
type result struct {
	waits  []time.Duration // between its requests
	took   time.Duration
	status int // of the response that the caller got; 0: none
	err    error
}

// inMemory is the URL of a server that is an http.RoundTripper.
const inMemory = "http://server.test"

// do makes one call and stops it after two days. Each call needs another number.
func (s *server) do(ctx context.Context, call call, url string, number int) result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(2*day, cancel).Stop() // not WithTimeout: adapters read the deadline

	begin := time.Now()
	var r result
	r.status, r.err = call(ctx, url+"/"+strconv.Itoa(number)+"/")
	r.took = time.Since(begin)

	s.mu.Lock()
	defer s.mu.Unlock()
	arrivals := s.arrivals[strconv.Itoa(number)]
	for i := 1; i < len(arrivals); i++ {
		r.waits = append(r.waits, arrivals[i].Sub(arrivals[i-1]))
	}
	return r
}

// doAll makes n calls at the same time, all with the same client.
func (s *server) doAll(ctx context.Context, call call, n int) []result {
	results := make([]result, n)
	var all sync.WaitGroup
	for number := range n {
		all.Go(func() { results[number] = s.do(ctx, call, inMemory, number) })
	}
	all.Wait()
	return results
}

// fields returns the header of a refusal with these values of Retry-After and a Date.
func fields(retryAfter ...string) func(time.Time) http.Header {
	return func(now time.Time) http.Header {
		return http.Header{"Retry-After": retryAfter, "Date": {httpDate(now)}}
	}
}

// dateIn30s returns the header of a refusal until a date 30 s ahead on the server's
// clock, which is ahead of the client's clock by ahead.
func dateIn30s(ahead time.Duration) func(time.Time) http.Header {
	return func(now time.Time) http.Header {
		now = now.Add(ahead)
		return http.Header{
			"Retry-After": {httpDate(now.Add(30 * time.Second))},
			"Date":        {httpDate(now)},
		}
	}
}

// aged returns the header of a refusal of 30 s from a cache that held it for 20 s.
func aged(now time.Time) http.Header {
	return http.Header{
		"Retry-After": {"30"},
		"Date":        {httpDate(now.Add(-20 * time.Second))},
		"Age":         {"20"},
	}
}

// noDate returns the header of a refusal until a date 30 s ahead, without a Date.
func noDate(now time.Time) http.Header {
	return http.Header{"Retry-After": {httpDate(now.Add(30 * time.Second))}}
}

func noField(time.Time) http.Header { return nil }

func httpDate(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
