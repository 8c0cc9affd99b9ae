package retryafter

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Options are the optional inputs of [Plan]. The zero value is ready to use. Options
// with Attempt, RequestSentAt or ResponseReceivedAt set are for one response only.
type Options struct {
	// Attempt is the number of this attempt, starting at 0 or 1. It matters only
	// with Jitter.Key: each attempt gets a different place in the window.
	Attempt int

	// Jitter spreads the clients above the floor, or above MinWait if that is longer.
	// The zero Jitter adds a random time; Jitter.Spread says how much.
	Jitter Jitter

	// RequestSentAt and ResponseReceivedAt are the times at which the request was
	// written and the first response byte arrived. Set both or neither, exactly as
	// time.Now returned them: the monotonic reading is required, and Round, UTC, Local
	// and In remove it. The round trip, and the time between ResponseReceivedAt and
	// the call of Plan, may each be at most 50 years.
	//
	// The round trip counts as age of the response, as in RFC 9111 §4.2.3. It also
	// contains the time that the request takes to reach the server, and the time that
	// the server takes to answer: the floor is too short by these two times. Set them
	// to different times only if the way back from the server is slow. Measure one
	// exchange, not all of Client.Do with its dialing and redirects.
	//
	// If both are zero, Plan takes the round trip as zero, and the time of its call as
	// the time of receipt. This never makes the floor too short. For several plans of
	// one response, set both to the time of receipt.
	RequestSentAt      time.Time
	ResponseReceivedAt time.Time

	// Age, if not nil, is the age of the response, 0 to 50 years. It is used instead
	// of the Age field and the round trip, for example if caches cannot be trusted. A
	// pointer to zero makes delay-seconds count from receipt, as RFC 9110 §10.2.3
	// says. If a date is counted from the client's clock (TrustClientClock), neither
	// this age nor the Age field is used.
	//
	// Some proxies replace Date and pass Age on, as nginx does. If such a proxy is
	// between the client and a cache, the wait computed from a date is too short by the
	// Age field. A pointer to zero corrects that, and so does "proxy_pass_header Date;"
	// in nginx.
	Age *time.Duration

	// MinWait is the caller's own backoff, 0 to 50 years: the wait is at least this
	// long, counted from receipt, and jitter is added on top. If the response has no
	// Retry-After, the wait is MinWait plus jitter. If 0, the server's floor alone
	// counts, and a response without Retry-After is ErrNoRetryAfter.
	MinWait time.Duration

	// MaxWait is the longest wait that the caller accepts, counted from receipt,
	// jitter included. If the window of the jitter would end after MaxWait, Plan
	// makes it end at MaxWait. The window stays at least 250ms wide (or
	// Jitter.Spread, if that is less). If even that does not fit, Plan returns a
	// LimitError with ErrExceedsMaxWait. So for "Retry-After: 30", a MaxWait of 30s
	// is too short, 30.25s is enough, and 37.5s leaves the whole default window,
	// which is a quarter of the wait. A wide Jitter.Spread needs a MaxWait that has
	// room for it.
	//
	// If 0, there is no limit. A server can then ask for up to 50 years, so set
	// MaxWait or give WaitFor a context with a deadline.
	MaxWait time.Duration

	// OnMissingDate says what to do with a date in Retry-After if the response has
	// no Date field. The zero value is RefuseMissingDate.
	OnMissingDate MissingDate
}

// A MissingDate says what to do with a date in Retry-After if the response has no
// Date field to count from. The zero value is RefuseMissingDate.
type MissingDate uint8

const (
	// RefuseMissingDate makes Plan return ErrMissingDate.
	RefuseMissingDate MissingDate = iota

	// TrustClientClock makes Plan count from the client's wall clock. If that clock is
	// wrong, the floor is wrong: a client 40 s fast retries 40 s early. If the date
	// is already past on that clock, the floor is zero.
	TrustClientClock
)

// A RetryPlan is a wait and how it was computed. It is a comparable value, and safe
// for concurrent use. The zero RetryPlan is no plan: [WaitFor] returns
// [ErrZeroPlan] for it. Only Instructed and Skew can be negative.
//
// It encodes to JSON with Source and Deadline as text, and cannot be decoded from
// it, because a Deadline is meaningless in another process.
type RetryPlan struct {
	Wait   time.Duration // how long to wait, from the moment the response arrived
	Floor  time.Duration // the server's minimum: never retry before this
	Jitter time.Duration // added on top, never subtracted
	Spread time.Duration // width of the window that Jitter was drawn from

	Source     Source        // the form of the Retry-After value; zero: there was none
	Instructed time.Duration // what the server asked for, before Age was subtracted
	Age        time.Duration // the age that was subtracted

	// Skew is the client's clock minus the server's, computed from Date, the Age
	// field and the round trip, not Options.Age. It is accurate to about a second, the
	// resolution of Date, if the server answered quickly. Nothing is computed from it.
	Skew      time.Duration
	SkewKnown bool // false: there was no usable Date

	ClampedToZero      bool // Instructed minus Age was negative, so Floor is zero
	TrustedClientClock bool // the floor was counted from the client's clock

	Deadline Deadline // the end of Wait on the monotonic clock
}

// Plan computes a wait from the header of a 429 or 503 response, or of any other
// that has a Retry-After field. It returns a plan or an error, never both.
//
// The floor is delay-seconds, or the HTTP-date minus the Date of the same response
// (RFC 9110 §10.2.3, §6.6.1); in both cases minus the age of the response (RFC 9111
// §4.2.3). Unless TrustClientClock is set, the client's wall clock plays no part in
// it, and may be wrong by any amount. Jitter is added above the floor, or above
// Options.MinWait if that is longer:
//
//	Floor = max(0, Instructed - Age)
//	Wait  = max(Floor, MinWait) + Jitter
//
// Without a Retry-After field, the caller's own backoff applies: if MinWait is set,
// the plan waits MinWait plus jitter. So Plan(nil, Options{MinWait: d}) plans any
// wait, such as that of a gRPC RetryInfo.
//
// In a header from net/http, all names are canonical. In other headers, Plan first
// looks for the canonical names. If Retry-After, Date or both are missing, it looks
// for Retry-After, Date and Age again, and ignores upper and lower case. An Age that
// is malformed (RFC 9111 §5.1) or more than 50 years is ignored, which makes the wait
// longer, never shorter; with delay-seconds, a malformed Date is ignored too. Plan
// keeps neither the header nor the options.
//
// The errors, in this order:
//
//   - [ErrInvalidOptions], in an error that names the option;
//   - [ErrNoRetryAfter] itself, not wrapped, if there is no Retry-After and MinWait
//     is 0;
//   - a *[FieldError] for Retry-After: an error of [ParseRetryAfter];
//     [ErrMultipleValues] for several field lines; for a date, also [ErrMissingDate],
//     [ErrBeforeDate] (more than a second before Date) or [ErrTooFarAhead] (more than
//     50 years after Date);
//   - a *[FieldError] for Date, only if Retry-After is a date: Date is repeated or
//     malformed;
//   - [ErrInvalidOptions] for the result of Jitter.Rand;
//   - a *[LimitError] with [ErrExceedsMaxWait]. The LimitError holds the complete plan,
//     its window not cut.
//
// After any error, do not retry: the wait is too long or cannot be determined.
//
// Plan is safe for concurrent use if Options.Jitter.Rand is.
func Plan(header http.Header, opts Options) (RetryPlan, error) {
	return planAt(systemNow(), header, &opts)
}

// planAt is Plan at a given instant.
func planAt(now instant, header http.Header, opts *Options) (RetryPlan, error) {
	if err := opts.check(now.wall); err != nil {
		return RetryPlan{}, err
	}
	received, roundTrip := now, time.Duration(0)
	// If the start has no monotonic reading, a difference could be one of wall clocks.
	if !opts.ResponseReceivedAt.IsZero() && processStart.monotonic {
		received = now.shiftTo(opts.ResponseReceivedAt)
		roundTrip = opts.ResponseReceivedAt.Sub(opts.RequestSentAt)
	}
	resp := readResponse(header)
	age := resp.age + roundTrip
	asked, err := askedWait(&resp, age, received.wall, opts)
	if err != nil {
		return RetryPlan{}, err
	}

	floor := asked.floor()
	base := max(floor, opts.MinWait)
	spread, needed := opts.Jitter.window(base, opts.MaxWait)
	jitter, err := opts.Jitter.draw(opts.Attempt, spread)
	if err != nil {
		return RetryPlan{}, err
	}
	wait := base + jitter

	// Computed last, so that nothing above can depend on it.
	skew, skewKnown := time.Duration(0), resp.dateErr == nil
	if skewKnown {
		skew = received.wall.Sub(resp.date.Add(age))
	}
	plan := RetryPlan{
		Wait:               wait,
		Floor:              floor,
		Jitter:             jitter,
		Spread:             spread,
		Source:             asked.source,
		Instructed:         asked.instructed,
		Age:                asked.age,
		Skew:               skew,
		SkewKnown:          skewKnown,
		ClampedToZero:      asked.instructed < asked.age,
		TrustedClientClock: asked.byClientClock,
		Deadline:           Deadline{mono: received.mono + wait, set: true},
	}
	if opts.MaxWait > 0 && opts.MaxWait < needed {
		return RetryPlan{}, &LimitError{Plan: plan, Limit: opts.MaxWait, Err: ErrExceedsMaxWait, needed: needed}
	}
	return plan, nil
}

// An asked is the wait that the server asked for. It is zero if the response has no
// Retry-After.
type asked struct {
	source        Source
	instructed    time.Duration
	age           time.Duration // to subtract from instructed
	byClientClock bool
}

// floor returns the server's minimum. It takes no time of the client's wall clock,
// unless the caller set TrustClientClock.
func (a asked) floor() time.Duration { return max(0, a.instructed-a.age) }

// askedWait returns the wait that the server asked for. wall is the client's clock
// at receipt; it is used only under TrustClientClock.
func askedWait(r *response, age time.Duration, wall time.Time, opts *Options) (asked, error) {
	switch {
	case len(r.retryAfter) == 0 && opts.MinWait > 0:
		return asked{}, nil
	case len(r.retryAfter) == 0:
		return asked{}, ErrNoRetryAfter
	case len(r.retryAfter) > 1:
		return asked{}, fieldError("Retry-After", strings.Join(r.retryAfter, ", "), ErrMultipleValues)
	}
	value := r.retryAfter[0]
	in, err := ParseRetryAfter(value)
	if err != nil {
		return asked{}, err
	}
	if opts.Age != nil {
		age = *opts.Age
	}
	switch {
	case in.Source == DelaySeconds:
		return asked{source: DelaySeconds, instructed: in.Delay, age: age}, nil
	case r.dateErr == nil:
		return r.askedUntil(in.Date, age)
	case r.dateErr != ErrMissingDate:
		return asked{}, fieldError("Date", strings.Join(r.dateLines, ", "), r.dateErr)
	case opts.OnMissingDate != TrustClientClock:
		return asked{}, fieldError("Retry-After", value, ErrMissingDate)
	}
	return r.askedUntilByClock(in.Date, wall)
}

// askedUntil returns the wait until date, counted from the Date of the same
// response. It takes no time of the client's wall clock.
func (r *response) askedUntil(date time.Time, age time.Duration) (asked, error) {
	instructed, err := date.Sub(r.date), error(nil) // Sub saturates
	switch {
	case instructed > horizon:
		err = ErrTooFarAhead
	case instructed < -time.Second:
		// Retry-After and Date may be rounded to seconds differently, so a date up to
		// one second before Date is accepted, and the floor is zero.
		err = ErrBeforeDate
	}
	if err != nil {
		return asked{}, r.originError(err, " beside Date "+quote(r.dateLines[0]))
	}
	return asked{source: HTTPDate, instructed: instructed, age: age}, nil
}

// askedUntilByClock returns the wait until date, counted from the client's clock at
// receipt. No age is subtracted: it had passed before that clock was read.
func (r *response) askedUntilByClock(date, wall time.Time) (asked, error) {
	instructed := date.Sub(wall) // saturates
	if instructed > horizon {
		return asked{}, r.originError(ErrTooFarAhead, ", counted from this client's clock")
	}
	return asked{source: HTTPDate, instructed: instructed, byClientClock: true}, nil
}

// originError returns an error about the date in Retry-After and what it was
// counted from.
func (r *response) originError(err error, origin string) error {
	return &FieldError{Field: "Retry-After", Value: r.retryAfter[0], Err: err, origin: origin}
}

// check rejects invalid options. It bounds every duration that is later added, so
// that no sum overflows into an immediate retry.
func (o *Options) check(now time.Time) error {
	sent, received := o.RequestSentAt, o.ResponseReceivedAt
	switch {
	case o.Attempt < 0:
		return invalid("Attempt is negative: %d", o.Attempt)
	case o.Jitter.Key != "" && o.Jitter.Rand != nil:
		return invalid("Jitter has both Key and Rand")
	case o.Jitter.Spread < 0 || o.Jitter.Spread > horizon:
		return invalid("Jitter.Spread is %v, not between 0 and 50 years", o.Jitter.Spread)
	case o.Age != nil && (*o.Age < 0 || *o.Age > horizon):
		return invalid("Age is %v, not between 0 and 50 years", *o.Age)
	case o.MinWait < 0 || o.MinWait > horizon:
		return invalid("MinWait is %v, not between 0 and 50 years", o.MinWait)
	case o.MaxWait < 0:
		return invalid("MaxWait is negative: %v", o.MaxWait)
	case o.OnMissingDate > TrustClientClock:
		return invalid("OnMissingDate is %d, not a MissingDate", o.OnMissingDate)
	case sent.IsZero() && received.IsZero():
		return nil
	case sent.IsZero():
		return invalid("ResponseReceivedAt is set without RequestSentAt")
	case received.IsZero():
		return invalid("RequestSentAt is set without ResponseReceivedAt")
	}
	return checkTimes(now, sent, received)
}

// checkTimes rejects times of an exchange that cannot be compared with each other
// and with now, or are out of order or out of bounds.
func checkTimes(now, sent, received time.Time) error {
	comparable := hasMonotonic(sent) == hasMonotonic(now) && hasMonotonic(received) == hasMonotonic(now)
	switch {
	case !comparable && hasMonotonic(now):
		return invalid("RequestSentAt or ResponseReceivedAt has no monotonic reading: " +
			"pass both exactly as time.Now returned them")
	case !comparable: // no time has a reading in a testing/synctest bubble
		return invalid("RequestSentAt or ResponseReceivedAt has a monotonic reading and time.Now has none: " +
			"take both inside the testing/synctest bubble")
	case received.Sub(sent) < 0:
		return invalid("RequestSentAt is %v after ResponseReceivedAt", sent.Sub(received))
	case received.Sub(sent) > horizon:
		return invalid("ResponseReceivedAt is %v after RequestSentAt, more than 50 years", received.Sub(sent))
	case now.Sub(received).Abs() > horizon:
		return invalid("ResponseReceivedAt is more than 50 years from now")
	}
	return nil
}

// String returns the plan and how it was computed in one line, such as
//
//	wait 11s = floor 10s (http-date 30s - age 20s) + jitter 1s of 2.5s; client clock 40s ahead
//
// It returns "no plan" for the zero RetryPlan.
func (p RetryPlan) String() string {
	if p.Deadline.IsZero() {
		return "no plan"
	}
	base := fmt.Sprintf("floor %v", p.Floor)
	if minWait := p.Wait - p.Jitter; minWait > p.Floor {
		base = fmt.Sprintf("MinWait %v over floor %v", minWait, p.Floor)
	}
	return fmt.Sprintf("wait %v = %s (%s) + jitter %v of %v; %s",
		p.Wait, base, p.describeInstruction(), p.Jitter, p.Spread, p.describeClock())
}

// describeInstruction says what the server asked for.
func (p *RetryPlan) describeInstruction() string {
	if p.Source == 0 {
		return "no Retry-After"
	}
	text := fmt.Sprintf("%v %v", p.Source, p.Instructed)
	if p.Age > 0 {
		text += fmt.Sprintf(" - age %v", p.Age)
	}
	if p.ClampedToZero {
		text += ", clamped to zero"
	}
	return text
}

// describeClock says what is known about the client's clock.
func (p *RetryPlan) describeClock() string {
	skew := p.Skew.Round(time.Second)
	switch {
	case p.TrustedClientClock:
		return "counted from the client's clock: no Date"
	case !p.SkewKnown:
		return "client clock unknown: no usable Date"
	case p.Skew.Abs() <= time.Second: // within the resolution of Date
		return "client clock correct to a second"
	case skew < 0:
		return fmt.Sprintf("client clock %v behind", skew.Abs())
	}
	return fmt.Sprintf("client clock %v ahead", skew)
}

// LogValue implements [slog.LogValuer]. It returns a group with every field of the
// plan, named in snake case: durations as durations, which a JSON handler writes in
// nanoseconds, and the deadline as [Deadline.EstimatedWall].
func (p RetryPlan) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Duration("wait", p.Wait),
		slog.Duration("floor", p.Floor),
		slog.Duration("jitter", p.Jitter),
		slog.Duration("spread", p.Spread),
		slog.String("source", p.Source.String()),
		slog.Duration("instructed", p.Instructed),
		slog.Duration("age", p.Age),
		slog.Duration("skew", p.Skew),
		slog.Bool("skew_known", p.SkewKnown),
		slog.Bool("clamped_to_zero", p.ClampedToZero),
		slog.Bool("trusted_client_clock", p.TrustedClientClock),
		slog.Time("deadline", p.Deadline.EstimatedWall()),
	)
}
