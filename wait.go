package retryafter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Deadline is the end of a wait on this process's monotonic clock, unaffected by
// steps of the wall clock. It is a comparable value, made by [Plan]; the zero
// Deadline is not set. It is meaningless in another process, and outside the
// [testing/synctest] bubble that it was made in.
//
// Its methods are safe for concurrent use.
type Deadline struct {
	mono time.Duration // as instant.mono
	set  bool
}

// Remaining returns the time until the deadline by the monotonic clock. It is
// negative once the deadline has passed, and 0 if the deadline is not set.
func (d Deadline) Remaining() time.Duration { return d.remainingAt(systemNow()) }

// EstimatedWall returns the deadline as a wall-clock time, for a log or another
// process. It is computed from the current wall clock of this machine at each
// call, and has no monotonic reading. If the deadline is not set, it is the zero
// time.
//
// The clock of another machine may differ. If a shared database holds the time, let
// the database add [Deadline.Remaining] to its own clock.
func (d Deadline) EstimatedWall() time.Time { return d.wallAt(systemNow()) }

// IsZero reports whether the deadline is not set.
func (d Deadline) IsZero() bool { return d == Deadline{} }

// String returns [Deadline.EstimatedWall] in the format of RFC 3339, or "not set".
func (d Deadline) String() string {
	if d.IsZero() {
		return "not set"
	}
	return d.EstimatedWall().Format(time.RFC3339Nano)
}

// MarshalText implements [encoding.TextMarshaler]. It returns
// [Deadline.EstimatedWall] in the format of RFC 3339, or an empty text if the
// deadline is not set. It returns an error if the estimated year has more than four
// digits.
//
// There is no UnmarshalText, because a deadline is meaningless in another process:
// decoding a RetryPlan or a Deadline from JSON is an error.
func (d Deadline) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return nil, nil
	}
	return d.EstimatedWall().MarshalText()
}

func (d Deadline) remainingAt(now instant) time.Duration {
	if d.IsZero() {
		return 0
	}
	return d.mono - now.mono
}

func (d Deadline) wallAt(now instant) time.Time {
	if d.IsZero() {
		return time.Time{}
	}
	return now.wall.Add(d.mono - now.mono).Round(0)
}

// WaitFor waits until the plan's deadline has passed and then returns nil. It never
// returns nil earlier, even if its timer fires early or the wall clock is stepped. No
// timer and no goroutine outlives the call. It is safe for concurrent use.
//
// In these cases it returns at once. The first that applies counts:
//
//   - [ErrZeroPlan] if the plan has no deadline;
//   - the error of ctx if ctx is done. If ctx has a cause, the error wraps both
//     ctx.Err() and the cause;
//   - nil if the plan's deadline has already passed, whatever the deadline of ctx is;
//   - a *[LimitError] with [ErrExceedsDeadline] if the plan's deadline is the same as
//     the deadline of ctx, or later. It holds the plan, so that the work can be
//     queued.
//
// If ctx is done during the wait, WaitFor returns the error of ctx in the same way.
//
// Make a new plan for each response: after the plan's deadline, WaitFor returns at
// once. Goroutines that wait for the same plan wake at the same instant. Give each
// goroutine its own plan of the same header, with Options.RequestSentAt and
// ResponseReceivedAt both set to the time of receipt.
//
// WaitFor does not shorten the jitter to fit the deadline of ctx. Plan does, if
// Options.MaxWait is the time left until that deadline.
func WaitFor(ctx context.Context, plan RetryPlan) error {
	return systemClock().waitFor(ctx, &plan)
}

// waitFor takes a pointer because a copy of the plan would stay on the stack of
// each waiting goroutine.
func (c clock) waitFor(ctx context.Context, plan *RetryPlan) error {
	left, err := c.timeLeft(ctx, plan)
	if err != nil {
		return err
	}
	for left > 0 { // more than once if a timer fires early
		timer := c.newTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return contextError(ctx)
		}
		left = plan.Deadline.remainingAt(c.now())
	}
	return nil
}

// timeLeft returns the time left to wait, or an error if the wait must not begin.
// It is separate from waitFor to keep the stack of a waiting goroutine small.
func (c clock) timeLeft(ctx context.Context, plan *RetryPlan) (time.Duration, error) {
	if plan.Deadline.IsZero() {
		return 0, ErrZeroPlan
	}
	if ctx.Err() != nil {
		return 0, contextError(ctx)
	}
	now := c.now()
	left := plan.Deadline.remainingAt(now)
	if left <= 0 {
		return 0, nil
	}
	if end, ok := ctx.Deadline(); ok {
		if budget := end.Sub(now.wall); budget <= left {
			return 0, &LimitError{Plan: *plan, Limit: max(0, budget), Err: ErrExceedsDeadline, needed: left}
		}
	}
	return left, nil
}

// contextError returns the error of a done context, together with its cause if that
// is a different error.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil: // a broken context must not end the wait with nil
		return context.Canceled
	case errors.Is(cause, err):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// An instant is one moment on both clocks.
type instant struct {
	wall time.Time     // as time.Now returned it: Sub of two such times is never stepped
	mono time.Duration // since processStart; never stepped; measures waits
}

// shiftTo converts t to an instant. i.wall and t must be from the same clock.
func (i instant) shiftTo(t time.Time) instant {
	return instant{wall: t, mono: i.mono - i.wall.Sub(t)}
}

// An epoch is the zero point of instant.mono. It is needed because the monotonic
// reading of a time.Time is available only as the difference from another time.
type epoch struct {
	start     time.Time
	monotonic bool // start has a monotonic reading
}

var processStart = epochAt(time.Now())

func epochAt(start time.Time) epoch { return epoch{start, hasMonotonic(start)} }

func systemNow() instant { return processStart.instant(time.Now()) }

// instant converts a time that time.Now has just returned to an instant.
//
// A time.Time has a monotonic reading only while the wall clock is in the years
// 1885 to 2157. If now has none, Sub would compare wall clocks; time.Since still
// reads the monotonic clock, or the clock of a testing/synctest bubble, in which no
// time has a reading. If the start has none, no time can be compared with it,
// and mono is always 0: see timerClock.
func (e epoch) instant(now time.Time) instant {
	switch {
	case !e.monotonic:
		return instant{wall: now}
	case !hasMonotonic(now):
		return instant{wall: now, mono: time.Since(e.start)}
	}
	return instant{wall: now, mono: now.Sub(e.start)}
}

// hasMonotonic reports whether t has a monotonic reading, which Round removes.
func hasMonotonic(t time.Time) bool { return t != t.Round(0) }

// A clock tells the time and makes timers. Tests use clocks whose wall time is
// stepped and whose timers misfire.
type clock struct {
	now      func() instant
	newTimer func(time.Duration) *time.Timer
}

func systemClock() clock {
	if !processStart.monotonic {
		return timerClock()
	}
	return clock{now: systemNow, newTimer: time.NewTimer}
}

// timerClock returns a clock for one wait in a process that began while the wall
// clock was outside the years 1885 to 2157. No time.Time of that process can be
// compared monotonically with its start, but its timers are monotonic: mono is the
// sum of their durations. The wait then begins when WaitFor is called,
// and so may be longer, but never ends early.
func timerClock() clock {
	var waited time.Duration
	return clock{
		now: func() instant { return instant{wall: time.Now(), mono: waited} },
		newTimer: func(d time.Duration) *time.Timer {
			waited += d // in advance: now is called again only after the timer has fired
			return time.NewTimer(d)
		},
	}
}
