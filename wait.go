package retryafter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Deadline is the instant at which a wait is over, on the monotonic clock of
// this process: steps of the wall clock do not move it. It is a comparable value,
// made by [Plan]; the zero Deadline is not set. It means nothing in another
// process, nor across the edge of a [testing/synctest] bubble.
type Deadline struct {
	mono time.Duration // since base
	set  bool
}

// Remaining returns the time until the deadline by the monotonic clock: negative
// once it has passed, and 0 if the deadline is not set.
func (d Deadline) Remaining() time.Duration { return systemClock().remaining(d) }

// EstimatedWall returns when the deadline will be by the wall clock as it stands
// now, without a monotonic reading: for a log, or for another process. It is
// worked out at each call, so it follows the steps of the wall clock. It is the
// zero time if the deadline is not set.
func (d Deadline) EstimatedWall() time.Time { return systemClock().estimatedWall(d) }

// IsZero reports whether the deadline is not set.
func (d Deadline) IsZero() bool { return d == Deadline{} }

// WaitFor waits until the deadline of the plan and then returns nil. It never
// returns nil earlier, however early or often its timer fires, and whatever
// happens to the wall clock. No timer and no goroutine outlives the call. It is
// safe for concurrent use.
//
// Otherwise it returns, in this order:
//
//   - [ErrZeroPlan] if the plan has no deadline;
//   - the error of a context that is done, at the call or during the wait. If the
//     context has a cause, the error is both ctx.Err() and the cause, which may be
//     any error;
//   - [ErrExceedsDeadline], at once, if the context would end before the plan or
//     with it. The error is also [context.DeadlineExceeded], and its message has
//     both figures.
//
// If the deadline of the plan has already passed, WaitFor starts no timer and does
// not look at the deadline of ctx. So a second wait for the same plan is none:
// make a plan of each response. To have the window of the jitter cut to fit a
// budget, set Options.MaxWait as well.
func WaitFor(ctx context.Context, plan RetryPlan) error {
	return systemClock().waitFor(ctx, plan.Deadline)
}

func (c clock) waitFor(ctx context.Context, d Deadline) error {
	left, err := c.toWait(ctx, d)
	if err != nil {
		return err
	}
	for left > 0 { // again, if the timer fired early
		timer := c.timer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return contextError(ctx)
		}
		left = c.remaining(d)
	}
	return nil
}

// toWait returns what is left to wait, which is nothing once the deadline has
// passed, or why the wait must not begin. It is a function of its own because all
// that it needs would otherwise stay on the stack of a goroutine while that waits.
func (c clock) toWait(ctx context.Context, d Deadline) (time.Duration, error) {
	if d.IsZero() {
		return 0, ErrZeroPlan
	}
	if ctx.Err() != nil {
		return 0, contextError(ctx)
	}
	now := c.now()
	left := d.mono - now.mono
	if left <= 0 {
		return 0, nil
	}
	if end, ok := ctx.Deadline(); ok {
		if budget := end.Sub(now.wall); budget <= left {
			return 0, &limitError{err: ErrExceedsDeadline, least: left, limit: max(0, budget)}
		}
	}
	return left, nil
}

// contextError is the error of a context that is done and, where it tells more,
// its cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil: // a broken context, but no reason to tell that the wait is over
		return context.Canceled
	case errors.Is(cause, err):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// An instant is one moment on both clocks.
type instant struct {
	wall time.Time     // may be stepped; for what meets another machine's time
	mono time.Duration // since base, never stepped; for what is waited
}

// at returns the instant at which the wall clock was read as t. Both readings of
// t are those of the clock that i is from.
func (i instant) at(t time.Time) instant {
	return instant{wall: t, mono: i.mono - i.wall.Sub(t)}
}

// A clock is where time comes from. Tests have others, whose wall clock is
// stepped against the monotonic one and whose timers misfire.
type clock struct {
	now   func() instant
	timer func(time.Duration) *time.Timer
}

func systemClock() clock { return clock{now: systemNow, timer: time.NewTimer} }

// base is the zero of the monotonic clock: a time.Time keeps its monotonic
// reading to itself and gives differences only.
var base = time.Now()

func systemNow() instant {
	now := time.Now()
	return instant{wall: now, mono: now.Sub(base)}
}

func (c clock) remaining(d Deadline) time.Duration {
	if d.IsZero() {
		return 0
	}
	return d.mono - c.now().mono
}

func (c clock) estimatedWall(d Deadline) time.Time {
	if d.IsZero() {
		return time.Time{}
	}
	now := c.now()
	return now.wall.Add(d.mono - now.mono).Round(0)
}
