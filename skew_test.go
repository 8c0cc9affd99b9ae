package retryafter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// naiveWait is the usual four lines, at a given reading of the client's clock:
// a server instant minus a client instant.
func naiveWait(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(seconds) * time.Second
	}
	date, _ := http.ParseTime(value)
	return max(0, date.Sub(now))
}

// offsets are how far a client's clock may be off, ahead of the server's.
var offsets = []struct {
	name  string
	ahead time.Duration
}{
	{"10 years behind", -10 * year},
	{"1 day behind", -24 * time.Hour},
	{"1 hour behind", -time.Hour},
	{"40 s behind", -40 * second},
	{"right", 0},
	{"40 s ahead", 40 * second},
	{"1 hour ahead", time.Hour},
	{"1 day ahead", 24 * time.Hour},
	{"10 years ahead", 10 * year},
}

// TestSkew is the reason for this package: one response, read by clients whose
// clocks are wrong.
func TestSkew(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\nRetry-After: %s\nDate:        %s\n\n", d30, d0)
	fmt.Fprintf(&table, "%-16s %16s %8s %16s\n", "client's clock", "four lines wait", "floor", "skew reported")
	local := time.Local
	defer func() { time.Local = local }()
	for _, offset := range offsets {
		client := t0.Add(offset.ahead)
		header := fields("Retry-After", d30, "Date", d0)
		naive := naiveWait(header, client)
		p, err := planOn(client, header, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "%-16s %16v %8v %16v\n", offset.name, naive, p.Floor, p.Skew)

		// By hand: 30 s less what the clock is ahead, and no less than nothing.
		if want := max(0, 30*second-offset.ahead); naive != want {
			t.Errorf("%s: the four lines wait %v, want %v", offset.name, naive, want)
		}
		if p.Floor != 30*second || p.Skew != offset.ahead || !p.SkewKnown {
			t.Errorf("%s: floor %v and skew %v, want 30s and %v", offset.name, p.Floor, p.Skew, offset.ahead)
		}

		// The same with Retry-After in asctime form, which has no zone and means GMT,
		// on machines whose own zone is another.
		for _, zone := range []*time.Location{time.FixedZone("New York", -4*3600), time.FixedZone("Kathmandu", 5*3600+45*60)} {
			time.Local = zone
			p, err := planOn(client.In(zone), fields("Retry-After", "Tue Aug  4 12:00:30 2026", "Date", d0), Options{})
			if err != nil || p.Floor != 30*second || p.Skew != offset.ahead {
				t.Errorf("%s, in %v: %v, %v", offset.name, zone, p, err)
			}
		}
	}
	t.Log(table.String())
}

// TestSkewOverHTTP is the same through a real server, whose clock is wrong
// against this machine's.
func TestSkewOverHTTP(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-16s %16s %8s %16s\n", "client's clock", "four lines wait", "floor", "skew reported")
	for _, offset := range offsets {
		var made, date time.Time // when the response was made, by this clock and by the server's
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			made = time.Now()
			date = made.Add(-offset.ahead).UTC().Truncate(time.Second)
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
		after := time.Now()
		if err != nil {
			t.Fatal(err)
		}
		naive := naiveWait(resp.Header, made) // at its best: by the very moment
		fmt.Fprintf(&table, "%-16s %16v %8v %16v\n",
			offset.name, naive.Round(time.Second), p.Floor, p.Skew.Round(time.Second))

		// Date is cut to its second, so the clocks are as far apart as they are set,
		// and up to a second more, and what passed until now.
		if atMost := after.Round(0).Sub(date); p.Floor != 30*second || p.Skew < offset.ahead || p.Skew > atMost {
			t.Errorf("%s: floor %v and skew %v, want 30s and %v to %v", offset.name, p.Floor, p.Skew, offset.ahead, atMost)
		}
		// Retry-After is cut as well, so the four lines wait up to a second less.
		if right := 30*second - offset.ahead; naive > max(0, right) || naive < max(0, right-second) {
			t.Errorf("%s: the four lines wait %v, want %v, or up to a second less", offset.name, naive, max(0, right))
		}
	}
	t.Log(table.String())
}

// apparentAge is the formula of RFC 9111 §4.2.3 that this package leaves out,
// max(0, response_time - date_value): a server instant less a client instant again.
func apparentAge(header http.Header, responseTime time.Time) time.Duration {
	date, _ := http.ParseTime(header.Get("Date"))
	return max(0, responseTime.Sub(date))
}

// TestApparentAge has it take a client's skew for age, and so the whole wait of a
// client 40 s fast.
func TestApparentAge(t *testing.T) {
	header := fields("Retry-After", d30, "Date", d0)
	client := t0.Add(40 * second)
	if naive := apparentAge(header, client); naive != 40*second {
		t.Errorf("apparent_age is %v: no longer wrong by 40 s, and so by all of the 30 s to wait", naive)
	}
	if p, err := planOn(client, header, Options{}); err != nil || p.Age != 0 || p.Floor != 30*second {
		t.Errorf("%v, %v", p, err)
	}
}

// A machine has a wall clock and timers at the mercy of a test. WaitFor runs on
// it in the calling goroutine alone: each timer that it arms is the turn of
// onTimer, which makes time pass, and says whether the timer then fires.
type machine struct {
	wall    time.Time
	mono    time.Duration
	onTimer func(m *machine, d time.Duration) (fires bool)
	armed   []time.Duration // how long each timer was for
	timers  []*time.Timer
}

func (m *machine) now() instant { return instant{wall: m.wall, mono: m.mono} }

func (m *machine) clock() clock {
	return clock{
		now: m.now,
		newTimer: func(d time.Duration) *time.Timer {
			// A real timer, so that it can be stopped, with a channel of ours.
			timer, fired := time.NewTimer(math.MaxInt64), make(chan time.Time, 1)
			timer.C = fired
			m.armed, m.timers = append(m.armed, d), append(m.timers, timer)
			if m.onTimer(m, d) {
				timer.Stop()
				fired <- m.wall
			}
			return timer
		},
	}
}

// left counts the timers that have neither fired nor been stopped.
func (m *machine) left() int {
	n := 0
	for _, timer := range m.timers {
		if timer.Stop() {
			n++
		}
	}
	return n
}

// pass lets time pass on both clocks, as it does but for steps.
func (m *machine) pass(d time.Duration) { m.wall, m.mono = m.wall.Add(d), m.mono+d }

// onTime is a timer as it should be.
func onTime(m *machine, d time.Duration) bool { m.pass(d); return true }

// plan30 is a plan of 30 s, made now.
func (m *machine) plan30(t *testing.T) RetryPlan {
	p, err := planAt(m.now(), fields("Retry-After", "30"), &Options{Jitter: Jitter{Rand: atFloor}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wallClockWait is the usual way to hold a deadline in one's own code: as a wall
// time, which is all that can be stored or sent, looked at every ten seconds.
func wallClockWait(m *machine, until time.Time) {
	for m.wall.Before(until) {
		m.onTimer(m, min(until.Sub(m.wall), 10*second))
	}
}

// TestSteppedClock steps the wall clock ten seconds into a wait of thirty.
func TestSteppedClock(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-28s %24s %10s\n", "wall clock, during 30 s", "wall-clock deadline", "WaitFor")
	for _, c := range []struct {
		name  string
		step  func(m *machine, d time.Duration)
		naive time.Duration // what the wall-clock deadline comes to
	}{
		{"not stepped", func(*machine, time.Duration) {}, 30 * second},
		{"stepped 1 hour ahead", once(time.Hour), 10 * second},
		{"stepped 1 hour back", once(-time.Hour), time.Hour + 30*second},
		{"stepped 1 day ahead", once(24 * time.Hour), 10 * second},
		{"stepped 1 day back", once(-24 * time.Hour), 24*time.Hour + 30*second},
		{"stepped 1 year ahead", once(year), 10 * second},
		{"stepped 1 year back", once(-year), year + 30*second},
		// NTP slews by 500 ppm at the most, 5 ms in 10 s; here by itself, though some
		// systems slew their monotonic clock along with it. By hand: after 20 s a fast
		// clock is 10 ms ahead and has 9.99 s to go. A slow one is 15 ms behind after
		// 30 s, then 7.5 us after these, then 3.75 ns.
		{"slewed 500 ppm fast", slew(500), 29990 * time.Millisecond},
		{"slewed 500 ppm slow", slew(-500), 30*second + 15*time.Millisecond + 7503},
		{"slewed there and back", func(m *machine, d time.Duration) { slew(500)(m, d/2); slew(-500)(m, d/2) }, 30 * second},
	} {
		step := func(m *machine, d time.Duration) bool { m.pass(d); c.step(m, d); return true }

		m := &machine{wall: t0, onTimer: step}
		wallClockWait(m, t0.Add(30*time.Second))
		naive := m.mono

		m = &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
			// As long a timer as WaitFor arms; time passes in the same tens of seconds.
			for ; d > 10*second; d -= 10 * second {
				step(m, 10*second)
			}
			return step(m, d)
		}}
		p := m.plan30(t)
		if err := m.clock().waitFor(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "%-28s %24v %10v\n", c.name, naive, m.mono)
		if left := m.left(); m.mono != 30*second || left != 0 {
			t.Errorf("%s: WaitFor took %v and left %d timers", c.name, m.mono, left)
		}
		if naive != c.naive {
			t.Errorf("%s: the wall-clock deadline took %v, want %v", c.name, naive, c.naive)
		}
	}
	t.Log(table.String())
}

// once steps the wall clock after the first ten seconds.
func once(step time.Duration) func(*machine, time.Duration) {
	return func(m *machine, _ time.Duration) {
		if m.mono == 10*second {
			m.wall = m.wall.Add(step)
		}
	}
}

// slew makes the wall clock run fast, by parts per million.
func slew(ppm int64) func(*machine, time.Duration) {
	return func(m *machine, d time.Duration) { m.wall = m.wall.Add(d * time.Duration(ppm) / 1e6) }
}

// TestTimersThatMisfire has timers fire at other times than they were armed for.
func TestTimersThatMisfire(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-34s %14s %12s %7s\n", "the timer fires", "a bare timer", "WaitFor", "timers")
	for _, c := range []struct {
		name    string
		onTimer func(m *machine, d time.Duration) bool
		want    time.Duration
		timers  int
	}{
		{"on time", onTime, 30 * second, 1},
		{"early by a nanosecond, once", early(1, func(d time.Duration) time.Duration { return d - 1 }), 30 * second, 2},
		{"at once, ten times in a row", early(10, func(time.Duration) time.Duration { return 0 }), 30 * second, 11},
		{"at half the time, ten times", early(10, func(d time.Duration) time.Duration { return d / 2 }), 30 * second, 11},
		{"at once, a thousand times", early(1000, func(time.Duration) time.Duration { return 0 }), 30 * second, 1001},
		{"late by a nanosecond", func(m *machine, d time.Duration) bool { m.pass(d + 1); return true }, 30*second + 1, 1},
		{"late by an hour", func(m *machine, d time.Duration) bool { m.pass(d + time.Hour); return true }, time.Hour + 30*second, 1},
	} {
		m := &machine{wall: t0, onTimer: c.onTimer}
		p := m.plan30(t)
		if err := m.clock().waitFor(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		took, timers, left := m.mono, len(m.armed), m.left()

		// One timer and its receive is what a Sleep comes to.
		m = &machine{wall: t0, onTimer: c.onTimer}
		m.onTimer(m, 30*second)
		fmt.Fprintf(&table, "%-34s %14v %12v %7d\n", c.name, m.mono, took, timers)
		if took != c.want || timers != c.timers || left != 0 {
			t.Errorf("%s: took %v by %d timers, want %v by %d", c.name, took, timers, c.want, c.timers)
		}
	}
	t.Log(table.String())
}

// early fires the first timers of a machine too early, and the rest on time.
func early(times int, when func(time.Duration) time.Duration) func(*machine, time.Duration) bool {
	return func(m *machine, d time.Duration) bool {
		if len(m.armed) > times {
			return onTime(m, d)
		}
		m.pass(when(d))
		return true
	}
}

// TestCancelLeavesNoTimer cancels while the timer is armed.
func TestCancelLeavesNoTimer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
		m.pass(d / 2)
		cancel(errCause)
		return false
	}}
	p := m.plan30(t)
	err := m.clock().waitFor(ctx, &p)
	if left := m.left(); !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) || left != 0 || len(m.armed) != 1 {
		t.Errorf("%v, with %d of %d timers left", err, left, len(m.armed))
	}
}

// wallContext has a deadline without a monotonic reading, as one that was stored
// or sent has.
type wallContext struct {
	context.Context
	deadline time.Time
}

func (c wallContext) Deadline() (time.Time, bool) { return c.deadline, true }

// TestWallClockContext counts such a deadline as the context does: by the wall
// clock, wherever that has been stepped to.
func TestWallClockContext(t *testing.T) {
	for _, c := range []struct {
		step time.Duration // between the plan and the wait
		err  error
	}{
		{0, nil},
		{-time.Hour, nil},                  // the context has an hour more
		{time.Minute - 30*second - 1, nil}, // it ends a nanosecond after the plan
		{time.Minute - 30*second, ErrExceedsDeadline}, // or with it
		{time.Hour, ErrExceedsDeadline},               // and it is over by now, though not done yet
	} {
		m := &machine{wall: t0, onTimer: onTime}
		p := m.plan30(t)
		m.wall = m.wall.Add(c.step)
		err := m.clock().waitFor(wallContext{t.Context(), t0.Add(time.Minute)}, &p)
		if !errors.Is(err, c.err) || err == nil && m.mono != 30*second || err != nil && m.mono != 0 {
			t.Errorf("stepped by %v: %v after %v, want %v", c.step, err, m.mono, c.err)
		}
	}
}

// TestPassedPlan is not held against the deadline of a context that is not done,
// be it a plan that ends this very nanosecond.
func TestPassedPlan(t *testing.T) {
	for _, late := range []time.Duration{0, 1} {
		m := &machine{wall: t0, onTimer: onTime}
		p := m.plan30(t)
		m.pass(30*second + late)
		if err := m.clock().waitFor(wallContext{t.Context(), t0}, &p); err != nil || len(m.armed) != 0 {
			t.Errorf("%v late: %v, %d timers", late, err, len(m.armed))
		}
	}
}

// stepped returns a time of this process as it would be had the wall clock been
// stepped: by the monotonic clock it is later by d, and by the wall clock it is
// the same. No function of the time package makes one.
func stepped(t *testing.T, now time.Time, d time.Duration) time.Time {
	reading := now
	(*struct {
		wall uint64
		mono int64
		loc  *time.Location
	})(unsafe.Pointer(&reading)).mono += int64(d)
	if reading.Sub(now) != d || !reading.Round(0).Equal(now.Round(0)) {
		t.Skip("a time.Time is made of other fields by now")
	}
	return reading
}

// TestSteppedTimes has the wall clock stepped between two times of this process:
// what counts is how far they are apart by the monotonic clock.
func TestSteppedTimes(t *testing.T) {
	now := time.Now()
	opts := Options{
		RequestSentAt:      stepped(t, now, -10*second-200*time.Millisecond),
		ResponseReceivedAt: stepped(t, now, -10*second),
		Jitter:             Jitter{Rand: atFloor},
	}
	p, err := Plan(fields("Retry-After", "30"), opts)
	if err != nil || p.Age != 200*time.Millisecond {
		t.Fatalf("%v, %v", p, err)
	}
	if got, want := p.Deadline.mono, now.Sub(processStart.start)-10*second+p.Wait; got != want {
		t.Errorf("the deadline is at %v, want %v: a wait after the receipt", got, want)
	}
	// This context ends in an hour by the wall clock, and before the plan in fact.
	end := stepped(t, now.Add(time.Hour), -time.Hour+10*second)
	if err := WaitFor(wallContext{t.Context(), end}, p); !errors.Is(err, ErrExceedsDeadline) {
		t.Error(err)
	}
}

// TestEstimatedWall follows the wall clock, and the deadline does not.
func TestEstimatedWall(t *testing.T) {
	m := &machine{wall: t0, onTimer: onTime}
	p := m.plan30(t)
	m.pass(10 * second)
	m.wall = m.wall.Add(time.Hour)
	if got, want := p.Deadline.wallAt(m.now()), t0.Add(30*second+time.Hour); !got.Equal(want) {
		t.Errorf("estimated as %v, want %v", got, want)
	}
	if got := p.Deadline.remainingAt(m.now()); got != 20*second {
		t.Errorf("%v remain, want 20s", got)
	}
}

// waitAction is a thing that may happen while WaitFor waits.
type waitAction struct {
	kind string
	d    time.Duration
}

// TestWaitForInvariants has any sequence of things happen during a wait. It never
// returns nil before the deadline, it does return the error of a context that was
// canceled before, and no timer is left.
func TestWaitForInvariants(t *testing.T) {
	kinds := []string{"fire early", "fire on time", "fire late", "step the wall clock", "pass", "cancel"}
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.Int64Range(0, int64(40*second)).Draw(t, "from the plan to the wait")
		var script []waitAction
		for i := range rapid.IntRange(0, 20).Draw(t, "actions") {
			script = append(script, waitAction{
				kind: rapid.SampledFrom(kinds).Draw(t, "kind "+strconv.Itoa(i)),
				d:    time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "duration "+strconv.Itoa(i))),
			})
		}

		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		canceledAt := time.Duration(-1)
		m := &machine{wall: t0}
		m.onTimer = func(m *machine, d time.Duration) bool {
			end := m.mono + d // when the timer is due
			for len(script) > 0 {
				action := script[0]
				script = script[1:]
				switch action.kind {
				case "fire early":
					m.pass(min(action.d, end-m.mono))
					return true
				case "fire on time":
					m.pass(end - m.mono)
					return true
				case "fire late":
					m.pass(end - m.mono + action.d)
					return true
				case "step the wall clock":
					m.wall = m.wall.Add(30*time.Minute - action.d) // in either direction
				case "pass":
					m.pass(min(action.d, end-m.mono))
				case "cancel":
					cancel()
					canceledAt = m.mono
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
		deadline := m.mono + p.Wait
		m.pass(time.Duration(before))
		err = m.clock().waitFor(ctx, &p)
		switch {
		case err == nil && m.mono < deadline:
			t.Fatalf("returned nil %v before the deadline", deadline-m.mono)
		case canceledAt >= 0 && err != context.Canceled:
			t.Fatalf("canceled, and returned %v", err)
		case canceledAt < 0 && err != nil:
			t.Fatalf("not canceled, and returned %v", err)
		case canceledAt >= 0 && m.mono != canceledAt:
			t.Fatalf("waited %v after it was canceled", m.mono-canceledAt)
		case m.left() != 0:
			t.Fatalf("a timer is left")
		case time.Duration(before) >= p.Wait && len(m.armed) > 0:
			t.Fatalf("armed %v after the deadline", m.armed)
		}
	})
}
