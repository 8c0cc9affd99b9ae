package retryafter_test

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/retryafter"
)

// A loop around Plan and WaitFor. The clock of this server is 40 seconds behind the
// client's, so time.Until of its Retry-After is negative. Like most 503 responses, its
// second one has no Retry-After: the wait is then MinWait plus jitter.
func Example() {
	responses := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch responses++; responses {
		case 1:
			now := time.Now().Add(-40 * time.Second).UTC()
			w.Header().Set("Date", now.Format(http.TimeFormat))
			w.Header().Set("Retry-After", now.Add(time.Second).Format(http.TimeFormat))
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()

	backoff := func(attempt int) time.Duration { // 100 ms, 200 ms, 400 ms, up to 10 s
		return min(100*time.Millisecond<<min(attempt-1, 10), 10*time.Second)
	}
	fetch := func(ctx context.Context) error {
		for attempt := 1; ; attempt++ {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
			if err != nil {
				return err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			resp.Body.Close()
			fmt.Println(resp.Status)
			if resp.StatusCode != http.StatusTooManyRequests &&
				resp.StatusCode != http.StatusServiceUnavailable {
				return nil
			}

			plan, err := retryafter.Plan(resp.Header, retryafter.Options{
				Attempt: attempt,
				MinWait: backoff(attempt),
			})
			if err != nil {
				return err // do not retry: the wait is too long, or cannot be determined
			}
			if err := retryafter.WaitFor(ctx, plan); err != nil {
				return err // ctx is done, or its deadline is before the end of the wait
			}
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := fetch(ctx); err != nil {
		log.Fatal(err)
	}

	// Output:
	// 429 Too Many Requests
	// 503 Service Unavailable
	// 200 OK
}

// A Transport replaces Retry-After by the planned wait in whole seconds, rounded up.
// It removes a field that cannot be used, so that the client uses its own backoff.
type Transport struct{ Base http.RoundTripper }

func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Base.RoundTrip(req)
	if err != nil || resp.Header["Retry-After"] == nil {
		return resp, err
	}
	plan, err := retryafter.Plan(resp.Header, retryafter.Options{})
	if err != nil {
		resp.Header.Del("Retry-After")
		return resp, nil
	}
	wait := retryafter.Instruction{Source: retryafter.DelaySeconds, Delay: plan.Wait}
	resp.Header.Set("Retry-After", wait.String())
	return resp, nil
}

// A client that retries by itself needs no change but this transport, which gives it
// a Retry-After that does not depend on its clock.
func Example_transport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hourAgo := time.Now().Add(-time.Hour).UTC() // this server's clock is an hour behind
		w.Header().Set("Date", hourAgo.Format(http.TimeFormat))
		w.Header().Set("Retry-After", hourAgo.Add(100*time.Second).Format(http.TimeFormat))
		if r.URL.Path == "/overflow" {
			w.Header().Set("Retry-After", "18446744074") // 290 ms, for a client that overflows
		}
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()

	client := &http.Client{Transport: Transport{Base: http.DefaultTransport}}
	for _, path := range []string{"/", "/overflow"} {
		resp, err := client.Get(server.URL + path)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		inWindow := 100 <= seconds && seconds <= 125
		fmt.Println(path, "has a wait:", err == nil, "of 100 to 125 seconds:", inWindow)
	}

	// Output:
	// / has a wait: true of 100 to 125 seconds: true
	// /overflow has a wait: false of 100 to 125 seconds: false
}

// A complete loop. It sends a request at most five times, and only if the next
// response may differ and the request is safe to repeat. Do not call it from another
// retry loop: with five attempts in each loop, that would be 25 requests.
func Example_retryLoop() {
	backoff := func(attempt int) time.Duration { return min(100*time.Millisecond<<attempt, 10*time.Second) }

	// The usual statuses are worth another attempt, and so is any other error with a
	// Retry-After: some servers send one with 403, 413 or 529.
	retryable := func(req *http.Request, resp *http.Response) bool {
		switch resp.StatusCode {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
			http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout:
		default:
			if resp.StatusCode < 400 || resp.Header.Get("Retry-After") == "" {
				return false
			}
		}
		safe := []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}
		return slices.Contains(safe, req.Method) || req.Header.Get("Idempotency-Key") != ""
	}

	// send calls build for each attempt, because an attempt consumes the request's body.
	send := func(ctx context.Context, build func() (*http.Request, error)) (*http.Response, error) {
		for attempt := 1; ; attempt++ {
			req, err := build()
			if err != nil {
				return nil, err
			}
			resp, err := http.DefaultClient.Do(req.WithContext(ctx))
			if err != nil {
				return nil, err // not retried: the server may have acted on the request
			}
			if attempt == 5 || !retryable(req, resp) {
				return resp, nil
			}
			// Reading the rest of the body lets the connection be used again.
			io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
			resp.Body.Close()

			plan, err := retryafter.Plan(resp.Header, retryafter.Options{
				Attempt: attempt,
				MinWait: backoff(attempt),
			})
			if err != nil {
				return nil, err // do not retry: the wait is too long, or cannot be determined
			}
			if err := retryafter.WaitFor(ctx, plan); err != nil {
				return nil, err // ctx is done, or its deadline is before the end of the wait
			}
		}
	}

	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, r.Header.Get("Idempotency-Key")+string(body))
		switch {
		case r.URL.Path != "/orders":
			http.NotFound(w, r)
		case len(requests) == 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusForbidden)
		case len(requests) == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // for all attempts together
	defer cancel()

	for _, path := range []string{"/orders", "/nowhere"} {
		requests = nil
		key := cryptorand.Text() // names the order, and so is the same for each attempt
		resp, err := send(ctx, func() (*http.Request, error) {
			req, err := http.NewRequest(http.MethodPost, server.URL+path, strings.NewReader("one tea"))
			if err == nil {
				req.Header.Set("Idempotency-Key", key)
			}
			return req, err
		})
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		sent, same := len(requests), len(slices.Compact(requests)) == 1
		fmt.Println(path, resp.StatusCode, "after", sent, "requests, all the same:", same)
	}

	// Output:
	// /orders 200 after 3 requests, all the same: true
	// /nowhere 404 after 1 requests, all the same: true
}

// A service has 10 seconds to answer, and the server that it depends on asks for 30.
// The service learns this at once, and tells its own caller when to come back.
func Example_budget() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer upstream.Close()

	call := func(ctx context.Context, budget time.Duration) error {
		resp, err := http.Get(upstream.URL)
		if err != nil {
			return err
		}
		resp.Body.Close()
		plan, err := retryafter.Plan(resp.Header, retryafter.Options{MinWait: time.Second, MaxWait: budget})
		if err != nil {
			return err
		}
		return retryafter.WaitFor(ctx, plan) // a real call would then try again
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const budget = 10 * time.Second
		ctx, cancel := context.WithTimeout(r.Context(), budget)
		defer cancel()
		err := call(ctx, budget)
		var limit *retryafter.LimitError
		if errors.As(err, &limit) { // of Plan or of WaitFor
			wait := retryafter.Instruction{Source: retryafter.DelaySeconds, Delay: limit.Plan.Floor}
			w.Header().Set("Retry-After", wait.String())
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}))
	defer service.Close()

	resp, err := http.Get(service.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s, Retry-After: %s\n%s", resp.Status, resp.Header.Get("Retry-After"), body)

	// Output:
	// 503 Service Unavailable, Retry-After: 30
	// retryafter: the wait does not fit in MaxWait: queue the work or tell the caller (needed 30.25s, limit 10s)
}

// One refusal holds back all goroutines that use the same host. They share the header
// and the time of receipt, but not the plan: each goroutine has a place of its own in
// the window, so that they do not send their requests at the same instant.
func Example_goroutines() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	received := time.Now()
	resp.Body.Close()

	const workers = 50
	deadlines := make(chan retryafter.Deadline, workers)
	for worker := range workers {
		go func() {
			plan, err := retryafter.Plan(resp.Header, retryafter.Options{
				RequestSentAt:      received, // the same time twice: a round trip of zero
				ResponseReceivedAt: received,
				Jitter:             retryafter.Jitter{Key: "worker-" + strconv.Itoa(worker)},
			})
			if err != nil {
				log.Fatal(err)
			}
			deadlines <- plan.Deadline // and then retryafter.WaitFor(ctx, plan)
		}()
	}
	places := map[retryafter.Deadline]bool{}
	for range workers {
		places[<-deadlines] = true
	}
	fmt.Println(len(places), "places in the window")

	// Output:
	// 50 places in the window
}

func ExampleParseRetryAfter() {
	for _, value := range []string{"120", "Tue, 04 Aug 2026 12:00:30 GMT"} {
		in, err := retryafter.ParseRetryAfter(value)
		if err != nil {
			log.Fatal(err)
		}
		switch in.Source {
		case retryafter.DelaySeconds:
			fmt.Println(in.Source, in.Delay)
		case retryafter.HTTPDate:
			fmt.Println(in.Source, in.Date)
		}
	}

	_, err := retryafter.ParseRetryAfter("Tue, 04 Aug 2026 12:00:30 EST")
	fmt.Println(errors.Is(err, retryafter.ErrNonGMTZone))
	fmt.Println(err)

	// Output:
	// delay-seconds 2m0s
	// http-date 2026-08-04 12:00:30 +0000 UTC
	// true
	// retryafter: Retry-After "Tue, 04 Aug 2026 12:00:30 EST": the time zone is missing or not GMT: have the server convert the time to UTC and write GMT
}

// The floor is the same whatever the time is on the client's clock.
func ExamplePlan() {
	header := http.Header{}
	header.Set("Date", "Tue, 04 Aug 2026 12:00:00 GMT")
	header.Set("Retry-After", "Tue, 04 Aug 2026 12:00:30 GMT")

	plan, err := retryafter.Plan(header, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("never before", plan.Floor)
	fmt.Println("at the latest", plan.Floor+plan.Spread)

	// Output:
	// never before 30s
	// at the latest 37.5s
}

// A client with a stable name keeps its place in the window within one attempt, on
// every machine, and has another place in the next attempt. Clients that collided once
// are unlikely to collide again.
func ExamplePlan_key() {
	header := http.Header{"Retry-After": {"30"}}
	for attempt := 1; attempt <= 2; attempt++ {
		for _, client := range []string{"client-7", "client-8"} {
			plan, err := retryafter.Plan(header, retryafter.Options{
				Attempt: attempt,
				Jitter:  retryafter.Jitter{Key: client},
			})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("attempt", attempt, client, plan.Wait.Round(time.Millisecond))
		}
	}

	// Output:
	// attempt 1 client-7 33.116s
	// attempt 1 client-8 33.729s
	// attempt 2 client-7 36.996s
	// attempt 2 client-8 36.136s
}

// A cache held this 429 for 20 seconds, which are subtracted.
func ExamplePlan_cached() {
	header := http.Header{"Retry-After": {"30"}, "Age": {"20"}}
	plan, err := retryafter.Plan(header, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Instructed, "-", plan.Age, "=", plan.Floor)

	// RFC 9110 counts delay-seconds from receipt. An Age of zero does the same, and is
	// also right if the caches cannot be trusted.
	plan, err = retryafter.Plan(header, retryafter.Options{Age: new(time.Duration)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Instructed, "-", plan.Age, "=", plan.Floor)

	// Output:
	// 30s - 20s = 10s
	// 30s - 0s = 30s
}

// If the way back from the server is slow, set RequestSentAt and ResponseReceivedAt:
// the round trip is then subtracted from the wait. Measure one exchange, because
// Client.Do as a whole may also resolve a name, dial and follow redirects.
func ExamplePlan_roundTrip() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	// The hooks run in goroutines of the transport, some of them after Do has returned.
	var mu sync.Mutex
	var sent, received time.Time
	interim := false
	trace := &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) {
			mu.Lock()
			defer mu.Unlock()
			sent = time.Now()
		},
		GotFirstResponseByte: func() {
			mu.Lock()
			defer mu.Unlock()
			received = time.Now()
		},
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			mu.Lock()
			defer mu.Unlock()
			interim = true // the first byte belonged to this interim response
			return nil
		},
	}
	ctx := httptrace.WithClientTrace(context.Background(), trace)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()

	var opts retryafter.Options
	mu.Lock()
	// A server may answer before it has read the whole request. There is then no round
	// trip to measure, and the wait is longer without it.
	if !sent.IsZero() && !received.Before(sent) && !interim {
		opts.RequestSentAt, opts.ResponseReceivedAt = sent, received
	}
	mu.Unlock()
	plan, err := retryafter.Plan(resp.Header, opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("floor and age:", plan.Floor+plan.Age)

	// Output:
	// floor and age: 30s
}

// A date without a Date field is an error. If the server cannot be made to send Date,
// and the clock of this machine is known to be right, TrustClientClock accepts it.
func ExamplePlan_missingDate() {
	later := time.Now().Add(90 * time.Minute).UTC()
	header := http.Header{"Retry-After": {later.Format(http.TimeFormat)}}

	_, err := retryafter.Plan(header, retryafter.Options{})
	fmt.Println(errors.Is(err, retryafter.ErrMissingDate))

	plan, err := retryafter.Plan(header, retryafter.Options{
		OnMissingDate: retryafter.TrustClientClock,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.TrustedClientClock, plan.Floor.Round(10*time.Minute))

	// Output:
	// true
	// true 1h30m0s
}

// Some servers put the wait in the body. Plan by the field first; if the body asks for
// more, put its wait into the field, rounded up to whole seconds, and plan again.
func ExamplePlan_body() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error": "slow down", "retry_after_seconds": 2.5}`)
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		RetryAfterSeconds float64 `json:"retry_after_seconds"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&body); err != nil {
		log.Fatal(err)
	}
	if body.RetryAfterSeconds < 0 || body.RetryAfterSeconds > 1e9 { // a time.Duration would overflow
		log.Fatal("do not retry: retry_after_seconds is ", body.RetryAfterSeconds)
	}
	inBody := time.Duration(body.RetryAfterSeconds * float64(time.Second))

	opts := retryafter.Options{MinWait: 100 * time.Millisecond}
	plan, err := retryafter.Plan(resp.Header, opts)
	if err == nil && plan.Floor < inBody {
		wait := retryafter.Instruction{Source: retryafter.DelaySeconds, Delay: inBody}
		resp.Header.Set("Retry-After", wait.String())
		plan, err = retryafter.Plan(resp.Header, opts)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Floor)

	// Output:
	// 3s
}

// Some servers send the time at which a quota is renewed, as a Unix time by their own
// clock. As an HTTP-date in Retry-After it is counted from the Date of the response,
// so the client's clock plays no part in it either.
func ExamplePlan_resetTime() {
	header := http.Header{}
	header.Set("Date", "Tue, 04 Aug 2026 12:00:00 GMT")
	header.Set("X-RateLimit-Reset", "1785844830")

	reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	until := retryafter.Instruction{Source: retryafter.HTTPDate, Date: time.Unix(reset, 0)}
	header.Set("Retry-After", until.String())
	plan, err := retryafter.Plan(header, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(until, "is in", plan.Floor)

	// Output:
	// Tue, 04 Aug 2026 12:00:30 GMT is in 30s
}

// Three values outside the grammar have one meaning only, and real servers send them:
// a fraction of zero ("2.0"), UTC in place of GMT (Go's time.RFC1123 writes it), and a
// day of one digit (Java's RFC_1123_DATE_TIME writes it, from the 1st to the 9th of a
// month). For a server that you know, repair them in Retry-After and in Date.
func ExamplePlan_repair() {
	repair := func(value string) string {
		value = strings.TrimSuffix(value, ".0")
		if date, found := strings.CutSuffix(value, " UTC"); found {
			value = date + " GMT"
		}
		if len(value) == len("Tue, 4 Aug 2026 12:00:30 GMT") && value[6] == ' ' {
			value = value[:5] + "0" + value[5:]
		}
		return value
	}
	repaired := func(header http.Header) http.Header {
		header = header.Clone()
		for _, name := range []string{"Retry-After", "Date"} {
			for i, value := range header[name] {
				header[name][i] = repair(value)
			}
		}
		return header
	}

	for _, header := range []http.Header{
		{"Retry-After": {"2.0"}},
		{"Retry-After": {"Tue, 04 Aug 2026 12:00:30 UTC"}, "Date": {"Tue, 04 Aug 2026 12:00:00 GMT"}},
		{"Retry-After": {"Tue, 4 Aug 2026 12:00:30 GMT"}, "Date": {"Tue, 4 Aug 2026 12:00:00 GMT"}},
		{"Retry-After": {"2.5"}},
	} {
		plan, err := retryafter.Plan(repaired(header), retryafter.Options{})
		fmt.Println(plan.Floor, err)
	}

	// Output:
	// 2s <nil>
	// 30s <nil>
	// 30s <nil>
	// 0s retryafter: Retry-After "2.5": not a whole number of seconds: have the server send digits only
}

// If you judge an error harmless, plan again without the field, by MinWait. Here a
// maintenance has lasted longer than the server announced: by its own clock, the time
// in Retry-After has passed.
func ExampleFieldError() {
	header := http.Header{}
	header.Set("Date", "Tue, 04 Aug 2026 12:10:00 GMT")
	header.Set("Retry-After", "Tue, 04 Aug 2026 12:00:00 GMT")
	opts := retryafter.Options{MinWait: 5 * time.Second}

	plan, err := retryafter.Plan(header, opts)
	if errors.Is(err, retryafter.ErrBeforeDate) {
		fmt.Println(err)
		header = header.Clone()
		header.Del("Retry-After")
		plan, err = retryafter.Plan(header, opts)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("at least", plan.Wait-plan.Jitter)

	// Output:
	// retryafter: Retry-After "Tue, 04 Aug 2026 12:00:00 GMT" beside Date "Tue, 04 Aug 2026 12:10:00 GMT": earlier than the response: have the server use one clock for both, and keep proxies from changing Date
	// at least 5s
}

// A wait that does not fit is an error that holds the complete plan, so that the work
// can be queued. Another process may resume it, so the end of the wait is stored as a
// wall-clock time, without its jitter. The process that resumes the work adds jitter
// again: if it starts late, many jobs are due at once, and Spread is the time in which
// they are to be spread. The Key is the name of the job, and Attempt is stored with it.
func ExampleLimitError() {
	header := http.Header{"Retry-After": {"3600"}}
	_, err := retryafter.Plan(header, retryafter.Options{MaxWait: 10 * time.Second})
	var limit *retryafter.LimitError
	if !errors.As(err, &limit) {
		log.Fatal(err)
	}
	fmt.Println(err)
	stored := limit.Plan.Deadline.EstimatedWall().Add(-limit.Plan.Jitter)

	// Another process plans the rest of the wait, before the stored time or after it.
	plan, err := retryafter.Plan(nil, retryafter.Options{
		Attempt: 2,
		Jitter:  retryafter.Jitter{Key: "job-7", Spread: 5 * time.Minute},
		MinWait: max(1, time.Until(stored)),
	})
	if err != nil {
		log.Fatal(err)
	}
	rest := plan.Wait - plan.Jitter
	fmt.Println("left:", rest.Round(time.Minute), "and jitter of", plan.Jitter.Round(time.Second))

	// Or it puts the stored time into Retry-After, as a date counted from this machine's
	// clock. This plan has a Floor; the one above has only MinWait.
	resumed := retryafter.Instruction{Source: retryafter.HTTPDate, Date: stored} // rounded up
	header = http.Header{"Retry-After": {resumed.String()}}
	plan, err = retryafter.Plan(header, retryafter.Options{OnMissingDate: retryafter.TrustClientClock})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("left:", plan.Floor.Round(time.Minute))

	// Output:
	// retryafter: the wait does not fit in MaxWait: queue the work or tell the caller (needed 1h0m0.25s, limit 10s)
	// left: 1h0m0s and jitter of 22s
	// left: 1h0m0s
}

// The budget for a call is the deadline of its context. A wait that does not fit in it
// is refused at once, while there is still time to do something else.
func ExampleWaitFor() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	plan, err := retryafter.Plan(http.Header{"Retry-After": {"30"}}, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = retryafter.WaitFor(ctx, plan)
	var limit *retryafter.LimitError
	if errors.As(err, &limit) {
		fmt.Println("needed:", limit.Plan.Floor, "left:", limit.Limit.Round(time.Second))
	}
	fmt.Println(errors.Is(err, context.DeadlineExceeded), ctx.Err())

	// Output:
	// needed: 30s left: 10s
	// true <nil>
}
