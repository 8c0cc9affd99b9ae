package retryafter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// naiveWait is the usual code: it subtracts the client's clock from the server's date.
func naiveWait(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(seconds) * time.Second
	}
	date, _ := http.ParseTime(value)
	return max(0, date.Sub(now))
}

// clientClocks are the clocks of clients, relative to the server's.
var clientClocks = []struct {
	name  string
	ahead time.Duration
}{
	{"10 years behind", -10 * aYear},
	{"1 day behind", -24 * time.Hour},
	{"1 hour behind", -time.Hour},
	{"40 s behind", -40 * sec},
	{"right", 0},
	{"40 s ahead", 40 * sec},
	{"1 hour ahead", time.Hour},
	{"1 day ahead", 24 * time.Hour},
	{"10 years ahead", 10 * aYear},
}

const skewHeading = "%-16s %16s %8s %16s\n"

// TestSkew shows why this package exists: one response, read by clients whose clocks are
// wrong, and responses made within a second, read by clients whose clocks are right.
func TestSkew(t *testing.T) {
	header := fields("Retry-After", d30, "Date", d0)
	asctime := fields("Retry-After", "Tue Aug  4 12:00:30 2026", "Date", d0)
	var table strings.Builder
	fmt.Fprintf(&table, "\nRetry-After: %s\nDate:        %s\n\n", d30, d0)
	fmt.Fprintf(&table, skewHeading, "client's clock", "usual code waits", "floor", "skew reported")
	for _, c := range clientClocks {
		client := t0.Add(c.ahead)
		naive, wantNaive := naiveWait(header, client), max(0, 30*sec-c.ahead)
		p, err := planOn(client, header, Options{})
		fmt.Fprintf(&table, "%-16s %16v %8v %16v\n", c.name, naive, p.Floor, p.Skew)
		if naive != wantNaive || err != nil || p.Floor != 30*sec || p.Skew != c.ahead || !p.SkewKnown {
			t.Errorf("%s: the usual code waits %v, want %v; Plan() = %#v, %v; want a Floor of 30s and that Skew",
				c.name, naive, wantNaive, p, err)
		}
		// Asctime has no zone and means GMT, whatever the zone of the client.
		for _, zone := range []*time.Location{time.FixedZone("EDT", -4*3600), time.FixedZone("+0545", 20700)} {
			setLocal(t, zone)
			p, err := planOn(client.In(zone), asctime, Options{})
			if err != nil || p.Floor != 30*sec || p.Skew != c.ahead {
				t.Errorf("%s, zone %v: Plan() = %#v, %v; want a Floor of 30s and that Skew", c.name, zone, p, err)
			}
		}
	}

	// A server rounds both dates down to whole seconds, but the client's clock runs on.
	fmt.Fprintf(&table, "\nBoth clocks right, and Retry-After 30 s after the response\n\n")
	fmt.Fprintf(&table, "%-16s %16s %8s\n", "response made at", "usual code waits", "floor")
	for _, c := range []struct{ after, naive time.Duration }{
		{0, 30 * sec},
		{250 * msec, 29750 * msec},
		{500 * msec, 29500 * msec},
		{750 * msec, 29250 * msec},
		{999 * msec, 29001 * msec},
	} {
		made := t0.Add(c.after)
		header := fields("Date", made.Format(http.TimeFormat),
			"Retry-After", made.Add(30*sec).Format(http.TimeFormat))
		naive := naiveWait(header, made)
		p, err := planOn(made, header, Options{})
		fmt.Fprintf(&table, "%-16s %16v %8v\n", made.Format("15:04:05.000"), naive, p.Floor)
		if naive != c.naive || err != nil || p.Floor != 30*sec {
			t.Errorf("made %v after a second: the usual code waits %v, want %v; Plan() = %#v, %v; want a Floor of 30s",
				c.after, naive, c.naive, p, err)
		}
	}
	t.Log(table.String())
}

// TestSkewOverHTTP shows the same with servers whose clocks are wrong relative to this
// machine's.
func TestSkewOverHTTP(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n"+skewHeading, "client's clock", "usual code waits", "floor", "skew reported")
	for _, c := range clientClocks {
		var made, date time.Time // the time of the response by this machine's and by the server's clock
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			made = time.Now()
			date = made.Add(-c.ahead).UTC().Truncate(time.Second)
			w.Header().Set("Date", date.Format(http.TimeFormat))
			w.Header().Set("Retry-After", date.Add(30*time.Second).Format(http.TimeFormat))
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		resp, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		server.Close()
		p, err := Plan(resp.Header, Options{})
		// Date is rounded down to a second, and the response took some time to arrive. So the
		// skew is at least that of the clocks, and at most this.
		mostSkew := time.Now().Round(0).Sub(date)
		if err != nil || p.Floor != 30*sec || p.Skew < c.ahead || p.Skew > mostSkew {
			t.Errorf("%s: Plan() = %#v, %v; want a Floor of 30s and a Skew from %v to %v",
				c.name, p, err, c.ahead, mostSkew)
		}
		naive := naiveWait(resp.Header, made)
		fmt.Fprintf(&table, "%-16s %16v %8v %16v\n",
			c.name, naive.Round(time.Second), p.Floor, p.Skew.Round(time.Second))
	}
	t.Log(table.String())
}

// A machine is a fake clock and makes fake timers. Each new timer calls onTimer, which lets
// time pass and reports whether the timer fires. Everything runs in one goroutine.
type machine struct {
	wall    time.Time
	mono    time.Duration
	onTimer func(m *machine, d time.Duration) (fires bool)
	timers  []*time.Timer
}

func (m *machine) now() instant { return instant{wall: m.wall, mono: m.mono} }

func (m *machine) clock() clock {
	return clock{
		now: m.now,
		newTimer: func(d time.Duration) *time.Timer {
			// A timer that can be stopped, and a channel that only the machine sends to.
			timer, fired := time.NewTimer(math.MaxInt64), make(chan time.Time, 1)
			timer.C = fired
			m.timers = append(m.timers, timer)
			if m.onTimer(m, d) {
				timer.Stop()
				fired <- m.wall
			}
			return timer
		},
	}
}

// running returns the number of timers that have neither fired nor been stopped.
func (m *machine) running() int {
	n := 0
	for _, timer := range m.timers {
		if timer.Stop() {
			n++
		}
	}
	return n
}

// pass lets time pass on both clocks.
func (m *machine) pass(d time.Duration) { m.wall, m.mono = m.wall.Add(d), m.mono+d }

// onTime is the onTimer of timers that fire on time.
func onTime(m *machine, d time.Duration) bool { m.pass(d); return true }

// plan30 returns a plan of 30 s, made now.
func (m *machine) plan30() RetryPlan {
	p, err := planAt(m.now(), fields("Retry-After", "30"), &Options{Jitter: Jitter{Rand: noJitter}})
	if err != nil {
		panic(err)
	}
	return p
}

var (
	errCause = errors.New("the user left")
	errPeer  = fmt.Errorf("%w by the peer", context.Canceled)
)

// TestWaitFor makes a plan at the time 0, calls WaitFor at a later time, and compares its
// result and the time at which it returns, to the nanosecond.
func TestWaitFor(t *testing.T) {
	const minute, never = time.Minute, time.Duration(0)
	const tooLong = "retryafter: the wait does not fit in the context's deadline: queue the work or tell the caller "
	for _, c := range []struct {
		name     string
		wait     time.Duration // of the plan; negative: the zero plan
		called   time.Duration
		timeout  time.Duration // the deadline of the context
		canceled time.Duration // the time when the context is canceled
		cause    error         // of the timeout or the cancellation
		returned time.Duration
		want     error
		message  string
	}{
		{"a zero plan is an error even if ctx is done", -1, sec, never, 1, nil,
			sec, ErrZeroPlan, ErrZeroPlan.Error()},

		{"a done ctx is an error even if the plan has passed", sec, 2 * sec, never, 1, nil,
			2 * sec, context.Canceled, "context canceled"},
		{"a canceled ctx returns its cause too", minute, sec, never, 1, errCause,
			sec, errCause, "context canceled: the user left"},
		{"a canceled ctx returns a cause that is context.Canceled alone", minute, sec, never, 1, errPeer,
			sec, errPeer, "context canceled by the peer"},
		{"an expired ctx is not ErrExceedsDeadline", 5 * minute, sec, 1, never, nil,
			sec, context.DeadlineExceeded, "context deadline exceeded"},
		{"an expired ctx returns its cause too", 5 * minute, sec, 1, never, errCause,
			sec, errCause, "context deadline exceeded: the user left"},

		{"a plan of 0 returns at once", 0, 0, never, never, nil, 0, nil, ""},
		{"a passed plan returns at once", sec, minute, never, never, nil, minute, nil, ""},
		{"a passed plan returns at once before ctx expires", sec, sec, sec + 1, never, nil, sec, nil, ""},

		{"a plan of 10 min in a ctx of 5 min", 10 * minute, 0, 5 * minute, never, errCause,
			0, ErrExceedsDeadline, tooLong + "(needed 10m0s, limit 5m0s)"},
		{"a ctx that expires 1 ns before the plan", 10 * minute, minute, 10*minute - 1, never, nil,
			minute, ErrExceedsDeadline, tooLong + "(needed 9m0s, limit 8m59.999999999s)"},
		{"a ctx that expires with the plan", 10 * minute, minute, 10 * minute, never, nil,
			minute, ErrExceedsDeadline, tooLong + "(needed 9m0s, limit 9m0s)"},

		{"a ctx that expires 1 ns after the plan", minute, 0, minute + 1, never, nil, minute, nil, ""},
		{"a ctx that does not end", 30 * sec, 0, never, never, nil, 30 * sec, nil, ""},
		{"a wait that begins 10 s after the plan", 30 * sec, 10 * sec, never, never, nil, 30 * sec, nil, ""},
		{"a ctx that is canceled during the wait", 5 * minute, 0, never, sec, nil,
			sec, context.Canceled, "context canceled"},
		{"a ctx that is canceled with a cause during the wait", 5 * minute, 0, never, sec, errCause,
			sec, errCause, "context canceled: the user left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				p, err := Plan(fields("Retry-After", "0"),
					Options{MinWait: max(0, c.wait), Jitter: Jitter{Rand: noJitter}})
				if err != nil {
					t.Fatal(err)
				}
				if c.wait < 0 {
					p = RetryPlan{}
				}
				ctx := context.Background()
				if c.timeout != never {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, c.cause)
					defer cancel()
				}
				if c.canceled != never {
					var cancel context.CancelCauseFunc
					ctx, cancel = context.WithCancelCause(ctx)
					time.AfterFunc(c.canceled, func() { cancel(c.cause) })
				}
				time.Sleep(c.called)
				synctest.Wait() // a ctx that ends now has ended

				err = WaitFor(ctx, p)
				returned := time.Since(start)
				if returned != c.returned || !errors.Is(err, c.want) || err != nil && err.Error() != c.message {
					t.Errorf("WaitFor() = %v at %v, want %v at %v", err, returned, c.want, c.returned)
				}
				if ended := ctx.Err(); ended != nil && p != (RetryPlan{}) && !errors.Is(err, ended) {
					t.Errorf("WaitFor() = %v, which is not %v", err, ended)
				}
				var limit *LimitError
				if isLimit := errors.As(err, &limit); isLimit != (c.want == ErrExceedsDeadline) {
					t.Errorf("WaitFor() = %#v; a LimitError: %v", err, isLimit)
				} else if isLimit {
					want := LimitError{Plan: p, Limit: c.timeout - c.called, Err: c.want, needed: c.wait - c.called}
					if *limit != want || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("WaitFor() = %#v, want %#v, which is context.DeadlineExceeded", limit, want)
					}
				}
			})
		})
	}
	handMade := RetryPlan{Wait: sec, Floor: sec}
	if err := WaitFor(t.Context(), handMade); err != ErrZeroPlan {
		t.Errorf("WaitFor(%#v) = %v, want ErrZeroPlan", handMade, err)
	}
}

// A wallContext has a deadline without a monotonic reading, like one from a database.
type wallContext struct {
	context.Context
	deadline time.Time
}

func (c wallContext) Deadline() (time.Time, bool) { return c.deadline, true }

// TestWallClockContext waits for a plan of 30 s under a deadline of a minute on the wall clock,
// which is stepped between the plan and the wait.
func TestWallClockContext(t *testing.T) {
	for _, c := range []struct {
		late  time.Duration // from the plan to the wait
		step  time.Duration
		limit time.Duration // of the LimitError; -1: WaitFor returns nil
	}{
		{0, 0, -1},
		{0, -time.Hour, -1},
		{0, 30*sec - 1, -1},       // the context ends 1 ns after the plan
		{0, 30 * sec, 30 * sec},   // it ends with the plan
		{0, time.Hour, 0},         // it has ended, but is not done yet
		{30 * sec, time.Hour, -1}, // and the plan has passed
		{10 * sec, 30 * sec, 20 * sec},
	} {
		m := &machine{wall: t0, onTimer: onTime}
		p := m.plan30()
		m.pass(c.late)
		m.wall = m.wall.Add(c.step)
		err := m.clock().waitFor(wallContext{t.Context(), t0.Add(time.Minute)}, &p)
		var limit *LimitError
		switch isLimit := errors.As(err, &limit); {
		case c.limit >= 0 && (!isLimit || limit.Limit != c.limit || m.mono != c.late):
			t.Errorf("%+v: WaitFor() = %v at %v", c, err, m.mono)
		case c.limit < 0 && (err != nil || m.mono != 30*sec):
			t.Errorf("%+v: WaitFor() = %v at %v, want nil at 30s", c, err, m.mono)
		}
	}
}

// A brokenContext is done. Its error may be nil, which a Context must not return, or of a
// type that cannot be compared.
type brokenContext struct {
	context.Context
	err error
}

func (c brokenContext) Err() error          { return c.err }
func (brokenContext) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }

type slicedError []string

func (e slicedError) Error() string { return e[0] }

func TestBrokenContexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{{nil, "context canceled"}, {slicedError{"broken"}, "broken"}} {
		m := &machine{wall: t0, onTimer: func(*machine, time.Duration) bool { return false }}
		p := m.plan30()
		err := m.clock().waitFor(brokenContext{context.Background(), c.err}, &p)
		if !strings.HasPrefix(fmt.Sprint(err), c.want) {
			t.Errorf("WaitFor() = %v if ctx.Err() is %#v, want %v", err, c.err, c.want)
		}
	}
}

// wallClockWait waits until a wall time, which it compares with the wall clock every 10 s.
func wallClockWait(m *machine, until time.Time) {
	for m.wall.Before(until) {
		m.onTimer(m, min(until.Sub(m.wall), 10*sec))
	}
}

// TestSteppedClock steps or slews the wall clock during a wait of 30 s.
func TestSteppedClock(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-28s %24s %10s\n", "wall clock, during 30 s", "wall-clock deadline", "WaitFor")
	for _, c := range []struct {
		name  string
		step  time.Duration // after 10 s
		ppm   int64         // the speed of the wall clock: parts per million too fast
		naive time.Duration // the wait until the wall-clock deadline
	}{
		{"not stepped", 0, 0, 30 * sec},
		{"stepped 1 hour ahead", time.Hour, 0, 10 * sec},
		{"stepped 1 hour back", -time.Hour, 0, time.Hour + 30*sec},
		{"stepped 1 day ahead", 24 * time.Hour, 0, 10 * sec},
		{"stepped 1 day back", -24 * time.Hour, 0, 24*time.Hour + 30*sec},
		{"stepped 1 year ahead", aYear, 0, 10 * sec},
		{"stepped 1 year back", -aYear, 0, aYear + 30*sec},
		// NTP slews a clock by at most 500 ppm, which is 5 ms in 10 s. After 20 s a fast clock
		// is 10 ms ahead, and 9.99 s are left. After 30 s a slow clock is 15 ms behind, after
		// these 7.5 us, and then 3.75 ns.
		{"slewed 500 ppm fast", 0, 500, 29990 * msec},
		{"slewed 500 ppm slow", 0, -500, 30*sec + 15*msec + 7503},
	} {
		tick := func(m *machine, d time.Duration) bool {
			m.pass(d)
			m.wall = m.wall.Add(d * time.Duration(c.ppm) / 1e6)
			if m.mono == 10*sec {
				m.wall = m.wall.Add(c.step)
			}
			return true
		}
		m := &machine{wall: t0, onTimer: tick}
		wallClockWait(m, t0.Add(30*time.Second))
		naive := m.mono

		m = &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
			for ; d > 10*sec; d -= 10 * sec { // one timer, during which the clock is stepped
				tick(m, 10*sec)
			}
			return tick(m, d)
		}}
		p := m.plan30()
		err := m.clock().waitFor(t.Context(), &p)
		fmt.Fprintf(&table, "%-28s %24v %10v\n", c.name, naive, m.mono)
		if naive != c.naive || err != nil || m.mono != 30*sec {
			t.Errorf("%s: the wall-clock deadline takes %v, want %v; WaitFor() = %v at %v, want nil at 30s",
				c.name, naive, c.naive, err, m.mono)
		}
	}
	t.Log(table.String())
}

// TestTimersThatMisfire waits for a plan of 30 s with timers that fire too early or too late.
func TestTimersThatMisfire(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-36s %12s %16s %7s\n", "the timer fires", "time.Sleep", "WaitFor", "timers")
	exact := func(d time.Duration) time.Duration { return d }
	atOnce := func(time.Duration) time.Duration { return 0 }
	for _, c := range []struct {
		name    string
		fires   func(d time.Duration) time.Duration // when a timer of d fires
		times   int                                 // the number of timers that do so; the others are on time
		waitFor time.Duration
		timers  int
	}{
		{"on time", exact, 1, 30 * sec, 1},
		{"1 ns early, once", func(d time.Duration) time.Duration { return d - 1 }, 1, 30 * sec, 2},
		{"after half of the time, ten times", func(d time.Duration) time.Duration { return d / 2 }, 10, 30 * sec, 11},
		{"at once, ten times", atOnce, 10, 30 * sec, 11},
		{"at once, a thousand times", atOnce, 1000, 30 * sec, 1001},
		{"1 ns late", func(d time.Duration) time.Duration { return d + 1 }, 1, 30*sec + 1, 1},
		{"1 hour late", func(d time.Duration) time.Duration { return d + time.Hour }, 1, time.Hour + 30*sec, 1},
	} {
		m := &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
			if len(m.timers) <= c.times {
				d = c.fires(d)
			}
			m.pass(d)
			return true
		}}
		p := m.plan30()
		err := m.clock().waitFor(t.Context(), &p)
		// time.Sleep uses one timer.
		fmt.Fprintf(&table, "%-36s %12v %16v %7d\n", c.name, c.fires(30*sec), m.mono, len(m.timers))
		if err != nil || m.mono != c.waitFor || len(m.timers) != c.timers || m.running() != 0 {
			t.Errorf("the timer fires %s: WaitFor() = %v at %v after %d timers, want nil at %v after %d",
				c.name, err, m.mono, len(m.timers), c.waitFor, c.timers)
		}
	}
	t.Log(table.String())
}

// TestCancelLeavesNoTimer cancels the context while the timer runs.
func TestCancelLeavesNoTimer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &machine{wall: t0, onTimer: func(*machine, time.Duration) bool { cancel(errCause); return false }}
	p := m.plan30()
	err := m.clock().waitFor(ctx, &p)
	if running := m.running(); !errors.Is(err, errCause) || len(m.timers) != 1 || running != 0 {
		t.Errorf("WaitFor() = %v, want %v; %d of %d timers still run", err, errCause, running, len(m.timers))
	}
}

// TestWaitForInvariants lets a random sequence of events happen during a wait. WaitFor returns
// nil only after the deadline, the error of a context that is canceled at once, and leaves no
// timer.
func TestWaitForInvariants(t *testing.T) {
	events := []string{"fire early", "fire on time", "fire late", "step the wall clock", "pass", "cancel"}
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		canceled := time.Duration(-1) // when the context is canceled
		left := rapid.IntRange(0, 20).Draw(t, "events")
		m := &machine{wall: t0}
		m.onTimer = func(m *machine, d time.Duration) bool {
			end := m.mono + d
			for ; left > 0; left-- {
				event := rapid.SampledFrom(events).Draw(t, "event")
				d := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "duration"))
				switch event {
				case "fire early":
					m.pass(min(d, end-m.mono))
					left--
					return true
				case "fire on time":
					left = 0
				case "fire late":
					m.pass(end - m.mono + d)
					return true
				case "step the wall clock": // in either direction
					m.wall = m.wall.Add(30*time.Minute - d)
				case "pass":
					m.pass(min(d, end-m.mono))
				case "cancel":
					cancel()
					canceled = m.mono
					return false
				}
			}
			m.pass(end - m.mono)
			return true
		}

		p, err := planAt(m.now(), fields("Retry-After", "30"), &Options{})
		if err != nil {
			t.Fatal(err)
		}
		late := time.Duration(rapid.Int64Range(0, int64(40*sec)).Draw(t, "from the plan to the wait"))
		m.pass(late)
		err = m.clock().waitFor(ctx, &p)
		switch {
		case canceled < 0 && (err != nil || m.mono < p.Wait):
			t.Fatalf("WaitFor() = %v at %v, want nil at %v or later", err, m.mono, p.Wait)
		case canceled >= 0 && (err != context.Canceled || m.mono != canceled):
			t.Fatalf("WaitFor() = %v at %v, want context.Canceled at %v", err, m.mono, canceled)
		case m.running() != 0 || late >= p.Wait && len(m.timers) > 0:
			t.Fatalf("WaitFor made %d timers, and %d of them still run", len(m.timers), m.running())
		}
	})
}

// stepped returns the time that time.Now would return d after now if the wall clock had been
// stepped back by d meanwhile: only its monotonic reading is later. Package time has no
// function for that.
func stepped(t *testing.T, now time.Time, d time.Duration) time.Time {
	later := now
	(*struct {
		wall uint64
		mono int64
		loc  *time.Location
	})(unsafe.Pointer(&later)).mono += int64(d)
	if later.Sub(now) != d || !later.Round(0).Equal(now.Round(0)) {
		t.Skip("this version of Go stores a time.Time differently")
	}
	return later
}

// TestSteppedTimes steps the wall clock between times of this process. Only their monotonic
// readings count.
func TestSteppedTimes(t *testing.T) {
	now := systemNow()
	p, err := planAt(now, fields("Retry-After", "30"), &Options{
		RequestSentAt:      stepped(t, now.wall, -10*sec-200*msec),
		ResponseReceivedAt: stepped(t, now.wall, -10*sec),
		Jitter:             Jitter{Rand: noJitter},
	})
	if want := now.mono + 19800*msec; err != nil || p.Age != 200*msec || p.Deadline.mono != want {
		t.Fatalf("Plan() = %#v, %v; want an Age of 200ms and a Deadline at %d", p, err, want)
	}
	// By its monotonic reading this context ends in 10 s, and by its wall time in an hour.
	end := stepped(t, now.wall.Add(time.Hour), 10*sec-time.Hour)
	if err := WaitFor(wallContext{t.Context(), end}, p); !errors.Is(err, ErrExceedsDeadline) {
		t.Errorf("WaitFor() = %v, want ErrExceedsDeadline", err)
	}
}

// TestReadings derives the monotonic reading of an instant from a start of the process and a
// result of time.Now.
func TestReadings(t *testing.T) {
	start := time.Now()
	later := stepped(t, start, 5*sec)
	if got, want := epochAt(start).instant(later), (instant{later, 5 * sec}); got != want {
		t.Errorf("both have a monotonic reading: got %v, want %v", got, want)
	}
	// The wall clock has been stepped out of the range in which there is a reading. The
	// monotonic clock has run on.
	far := start.Round(0).Add(200 * aYear)
	least := time.Since(start)
	got := epochAt(start).instant(far)
	if most := time.Since(start); got.wall != far || got.mono < least || got.mono > most {
		t.Errorf("only the start has a monotonic reading: got %v, want %v to %v", got, least, most)
	}
	if got, want := epochAt(t0).instant(later), (instant{later, 0}); got != want {
		t.Errorf("the start has no monotonic reading: got %v, want %v", got, want)
	}
	if !processStart.monotonic || !hasMonotonic(systemNow().wall) {
		t.Error("this process does not use its monotonic readings")
	}
}

// TestTimerClock waits in a process whose start has no monotonic reading. Each wait of 30 s
// lasts that long from the call of WaitFor.
func TestTimerClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which time.Now has no monotonic reading
		epoch := epochAt(time.Now())
		p, err := planAt(epoch.instant(time.Now()), nil, &Options{MinWait: 30 * sec, Jitter: Jitter{Rand: noJitter}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(10 * sec)
			start := time.Now()
			err := epoch.clock().waitFor(t.Context(), &p)
			if took := time.Since(start); err != nil || took != 30*sec {
				t.Errorf("WaitFor() = %v after %v, want nil after 30s", err, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*sec)
		defer cancel()
		if err := epoch.clock().waitFor(ctx, &p); !errors.Is(err, ErrExceedsDeadline) {
			t.Errorf("WaitFor() = %v, want ErrExceedsDeadline", err)
		}
	})
}

// TestDeadline steps the wall clock by an hour. The deadline is 0 on the monotonic clock, and
// set nevertheless.
func TestDeadline(t *testing.T) {
	m := &machine{wall: t0, mono: -30 * sec}
	d := m.plan30().Deadline
	m.pass(10 * sec)
	m.wall = m.wall.Add(time.Hour)
	left, wall := d.remainingAt(m.now()), d.wallAt(m.now())
	if want := t0.Add(time.Hour + 30*sec); d.IsZero() || left != 20*sec || wall != want {
		t.Errorf("%#v: %v remain, until %v; want 20s, until %v", d, left, wall, want)
	}
	if d := (Deadline{mono: systemNow().mono, set: true}); hasMonotonic(d.EstimatedWall()) {
		t.Errorf("EstimatedWall() = %v, want no monotonic reading", d.EstimatedWall())
	}
}

// TestDeadlineText writes a deadline 2.5 s after it has passed, in the zone of this machine.
func TestDeadlineText(t *testing.T) {
	setLocal(t, time.FixedZone("", 20700))
	synctest.Test(t, func(t *testing.T) { // the clock in it begins at 2000-01-01T00:00:00Z
		d := Deadline{mono: systemNow().mono + 30*sec, set: true}
		time.Sleep(32500 * msec)
		const want = "2000-01-01T05:45:30+05:45"
		text, err := d.MarshalText()
		if d.Remaining() != -2500*msec || d.String() != want || string(text) != want || err != nil {
			t.Errorf("Remaining() = %v, String() = %s, MarshalText() = %s, %v; want -2.5s and %s",
				d.Remaining(), d, text, err, want)
		}

		// A zone in which the year has five digits.
		eightThousandYears := int64(8000 * 31557600)
		setLocal(t, time.FixedZone("", int(eightThousandYears)))
		if text, err := d.MarshalText(); err == nil {
			t.Errorf("MarshalText() = %s, want an error", text)
		}
	})

	var zero Deadline
	text, err := zero.MarshalText()
	if !zero.IsZero() || zero.Remaining() != 0 || !zero.EstimatedWall().IsZero() ||
		zero.String() != "not set" || len(text) != 0 || err != nil {
		t.Errorf("the zero Deadline: IsZero() = %t, Remaining() = %v, EstimatedWall() = %v, String() = %s, "+
			"MarshalText() = %q, %v", zero.IsZero(), zero.Remaining(), zero.EstimatedWall(), zero, text, err)
	}
}

func BenchmarkWaitFor(b *testing.B) {
	ctx := b.Context()
	plan, err := Plan(fields("Retry-After", "0"), Options{Jitter: Jitter{Rand: noJitter}})
	if err != nil {
		b.Fatal(err)
	}
	versus(b, "passed", "time.Now", benchmarkNow, func(b *testing.B) {
		for b.Loop() {
			if err := WaitFor(ctx, plan); err != nil {
				b.Fatal(err)
			}
		}
	})
	versus(b, "waits", "time.NewTimer", func(b *testing.B) {
		for b.Loop() {
			<-time.NewTimer(10 * time.Microsecond).C
		}
	}, func(b *testing.B) {
		plan := plan
		for b.Loop() {
			plan.Deadline.mono = systemNow().mono + 10*time.Microsecond
			if err := WaitFor(ctx, plan); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWaiters compares the memory of 100,000 goroutines in WaitFor with that of as many
// in time.Sleep, and reports how late the median one is. Each group has a process of its own,
// because later goroutines of a process start with as much stack as earlier ones needed.
func BenchmarkWaiters(b *testing.B) {
	const variable = "RETRYAFTER_TEST_WAITERS"
	if group := os.Getenv(variable); group != "" {
		measureWaiters(b, group)
		return
	}
	for b.Loop() {
		memory := map[string]float64{}
		for _, group := range []string{"Sleep", "WaitFor"} {
			command := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkWaiters$", "-test.benchtime=1x")
			command.Env = append(os.Environ(), variable+"="+group)
			output, err := command.CombinedOutput()
			if errors.Is(err, errors.ErrUnsupported) {
				b.Skip(err) // js/wasm
			}
			var bytes, late float64
			_, result, _ := strings.Cut(string(output), "waiters: ")
			if _, scanErr := fmt.Sscan(result, &bytes, &late); err != nil || scanErr != nil {
				b.Fatalf("%v, %v: %s", err, scanErr, output)
			}
			memory[group] = bytes
			b.ReportMetric(bytes, group+"-B/waiter")
			b.ReportMetric(late, group+"-us-late")
		}
		b.ReportMetric(memory["WaitFor"]/memory["Sleep"], "memory-ratio")
	}
}

// measureWaiters prints the memory of a waiter in bytes, and how late the median one is in
// microseconds. It fails if a wait ends early, or before the memory is measured.
func measureWaiters(b *testing.B, group string) {
	const waiters, wait = 100_000, 4 * time.Second
	inUse := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse + m.StackInuse)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := make([]time.Duration, waiters)
	var started, ended sync.WaitGroup
	var early atomic.Int64 // the number of waits that ended before the memory is measured
	started.Add(waiters)
	before := inUse()
	for i := range waiters {
		ended.Go(func() {
			start := systemNow()
			started.Done()
			if group == "Sleep" {
				time.Sleep(wait)
			} else if err := WaitFor(ctx, RetryPlan{Deadline: Deadline{mono: start.mono + wait, set: true}}); err != nil {
				b.Error(err)
			}
			early.Add(1)
			late[i] = systemNow().mono - start.mono - wait
		})
	}
	started.Wait()
	time.Sleep(wait / 4) // all of them are in their waits now
	memory := (inUse() - before) / waiters
	measured := early.Load()
	ended.Wait()
	slices.Sort(late)
	if measured > 0 || late[0] < 0 {
		b.Fatalf("%d waits ended before the memory was measured; the shortest one was %v late", measured, late[0])
	}
	fmt.Println("waiters:", memory, float64(late[waiters/2].Microseconds()))
}
