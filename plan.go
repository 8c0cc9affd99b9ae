package retryafter

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Options holds what the caller knows in addition to the header. The zero value
// suits most callers. Set it afresh for each response.
type Options struct {
	// Attempt is the number of this try, from 0 or 1 as the caller counts. It is
	// only used with Jitter.Key, to give the client another place each round.
	Attempt int

	// Jitter spreads the clients above the floor. Zero: a random place in a
	// window of a quarter of the wait.
	Jitter Jitter

	// RequestSentAt and ResponseReceivedAt are when the request had been written
	// and when the first byte of the response came. Give both or neither, exactly as
	// time.Now returned them: Round, UTC, Local and In strip the monotonic reading,
	// which is required. The exchange, and the time since, are at most 50 years.
	//
	// The time between them counts as age of the response, as in RFC 9111 §4.2.3.
	// That over-estimates the age: the floor is early by the time that the request
	// took to arrive and be thought about. So give them only if the way back is
	// slow, and measure this one exchange, not a whole Do that dials and redirects.
	//
	// Both zero: the round trip counts as no time, and the response as received
	// when Plan is called. Neither makes the floor early.
	RequestSentAt      time.Time
	ResponseReceivedAt time.Time

	// Age, if not nil, is the age of the response, 0 to 50 years, in place of the
	// Age field and the round trip. Give it if the caches on the way cannot be
	// trusted. A pointer to zero counts delay-seconds from the receipt of the
	// response, to the letter of RFC 9110 §10.2.3. It is not used where
	// TrustClientClock is.
	Age *time.Duration

	// MinWait is the caller's own backoff, 0 to 50 years: the wait is at least
	// this, and jitter is added on top. It counts from when the response arrived,
	// as the wait does. 0: the server's floor alone.
	MinWait time.Duration

	// MaxWait is the longest wait that the caller accepts, jitter included, from
	// when the response arrived. The window is cut to end there, but not to less
	// than 250ms, or Jitter.Spread if that is less. The floor is never cut: a wait
	// that does not fit is ErrExceedsMaxWait. 0: no limit.
	MaxWait time.Duration

	// OnMissingDate says what to do about an HTTP-date in Retry-After if the
	// response has no Date. Zero: RefuseMissingDate.
	OnMissingDate MissingDate
}

// A MissingDate is what to do about an HTTP-date in Retry-After without a Date
// field to count it from.
type MissingDate uint8

const (
	// RefuseMissingDate, the zero value, has Plan return ErrMissingDate.
	RefuseMissingDate MissingDate = iota

	// TrustClientClock has Plan count from the wall clock of this client, whose
	// error is then in the floor: a client forty seconds fast comes forty seconds
	// early. A date that has passed by that clock is a floor of zero.
	TrustClientClock
)

// A RetryPlan is a wait and how it was computed. It is a comparable value; the
// zero RetryPlan is no plan. All durations but Instructed and Skew are at least 0.
type RetryPlan struct {
	Wait   time.Duration // what to wait, from the moment the response arrived
	Floor  time.Duration // the server's minimum: never retry before this
	Jitter time.Duration // added on top, never subtracted
	Spread time.Duration // width of the window that Jitter was drawn from

	Source     Source        // the form of the instruction; zero: there was none
	Instructed time.Duration // what the server asked for, before Age was taken off
	Age        time.Duration // the age of the response, as it was taken off

	// Skew is the client's clock minus the server's, by Date, the Age field and the
	// round trip, whatever Options.Age says. It is good to about a second, since
	// Date has whole ones, and is used by nothing.
	Skew      time.Duration
	SkewKnown bool // false: there was no usable Date

	ClampedToZero      bool // Instructed less Age was below zero, so Floor is zero
	TrustedClientClock bool // the floor was counted from the client's clock

	Deadline Deadline // the end of Wait on the monotonic clock
}

// Plan computes a wait from the header of a 429 or 503, or of any other response
// that has a Retry-After.
//
// The floor is computed in the server's frame: from delay-seconds as it stands,
// or from an HTTP-date minus the Date of the same response, and from either minus
// the age of that response, RFC 9111 §4.2.3. The clock of this client is not part
// of it, so it may be wrong by any amount. Jitter is added above the floor, or
// above Options.MinWait if that is longer:
//
//	Floor = max(0, Instructed - Age)
//	Wait  = max(Floor, MinWait) + Jitter
//
// If the header has a canonical Retry-After, as one from net/http does, only
// canonical names are read. Otherwise the names of all three fields are looked up
// without regard to case. An Age that is malformed (RFC 9111 §5.1) or of more than
// 50 years is ignored, which makes the wait longer and never shorter; with
// delay-seconds, a malformed Date is ignored too. Plan keeps neither the header nor
// the options.
//
// The errors, in this order:
//
//   - [ErrInvalidOptions], wrapped in a message that names the option. Only what
//     Jitter.Rand returns is looked at last, before ErrExceedsMaxWait;
//   - [ErrNoRetryAfter], bare. If MinWait is set, a plan of MinWait plus jitter is
//     returned with it;
//   - a *[FieldError] of field Retry-After: whatever [ParseRetryAfter] refuses,
//     [ErrMultipleValues] also for several field lines, [ErrMissingDate],
//     [ErrBeforeDate] for a date more than a second before Date, [ErrTooFarAhead]
//     for one more than 50 years after it;
//   - a *[FieldError] of field Date, only with an HTTP-date: there are several, or
//     the one is malformed;
//   - [ErrExceedsMaxWait], also in place of ErrNoRetryAfter, with the whole plan
//     of the uncut window.
//
// With every other error the plan is zero. Go on by a backoff of your own after
// ErrNoRetryAfter alone. After any other error stop: the wait is too long, or
// there was an instruction that cannot be read, and to go on may be too early.
//
// Plan is safe for concurrent use if Options.Jitter.Rand is.
func Plan(header http.Header, opts Options) (plan RetryPlan, err error) {
	err = plan.compute(systemClock(), header, &opts)
	return plan, err
}

// compute is Plan by a given clock. It leaves p zero where no plan goes with the
// error.
func (p *RetryPlan) compute(c clock, header http.Header, opts *Options) error {
	now := c.now()
	if err := opts.check(now.wall); err != nil {
		return err
	}
	receipt, roundTrip := now, time.Duration(0)
	if !opts.ResponseReceivedAt.IsZero() {
		receipt = now.at(opts.ResponseReceivedAt)
		roundTrip = opts.ResponseReceivedAt.Sub(opts.RequestSentAt)
	}
	var r response
	r.read(header)
	r.age += roundTrip

	verdict := p.instruct(&r, receipt.wall, opts)
	if verdict != nil && !(verdict == ErrNoRetryAfter && opts.MinWait > 0) {
		return verdict
	}

	base := max(p.Floor, opts.MinWait)
	spread, tooLong := opts.Jitter.window(base, opts.MaxWait)
	jitter, err := opts.Jitter.draw(opts.Attempt, spread)
	if err != nil {
		*p = RetryPlan{}
		return err
	}
	p.Spread, p.Jitter, p.Wait = spread, jitter, base+jitter
	p.Deadline = Deadline{mono: receipt.mono + p.Wait, set: true}

	// Only now, so that nothing above can read it.
	if r.dateErr == nil {
		p.Skew, p.SkewKnown = receipt.wall.Sub(r.date.Add(r.age)), true
	}
	if tooLong != nil {
		return tooLong
	}
	return verdict
}

// instruct reads the instruction, chooses the frame to count it in, and sets the
// floor. The wall clock of this client is for TrustClientClock alone.
func (p *RetryPlan) instruct(r *response, wall time.Time, opts *Options) error {
	if len(r.retryAfter) == 0 {
		return ErrNoRetryAfter
	}
	value := strings.Join(r.retryAfter, ", ") // nearly always one
	if len(r.retryAfter) > 1 {
		return fieldError("Retry-After", value, ErrMultipleValues)
	}
	in, err := ParseRetryAfter(value)
	if err != nil {
		return err
	}
	from, age := r.date, r.age
	if opts.Age != nil {
		age = *opts.Age
	}
	if in.Source == HTTPDate && r.dateErr != nil {
		if r.dateErr != ErrMissingDate {
			return fieldError("Date", strings.Join(r.dateLines, ", "), r.dateErr)
		}
		if opts.OnMissingDate != TrustClientClock {
			return fieldError("Retry-After", value, ErrMissingDate)
		}
		// By the client's clock at receipt, the age has gone by already.
		from, age, p.TrustedClientClock = wall, 0, true
	}
	if err := p.setFloor(in, from, age); err != nil {
		frame := strings.Join(r.dateLines, "") // one, or none
		if p.TrustedClientClock {
			frame = clientClock
		}
		*p = RetryPlan{}
		return &FieldError{Field: "Retry-After", Value: value, Err: err, from: frame}
	}
	return nil
}

// setFloor computes the floor, RFC 9110 §10.2.3 and RFC 9111 §4.2.3. It is given
// durations and server instants only: from is the Date of the response, and no
// clock of this client is in scope unless the caller said TrustClientClock.
func (p *RetryPlan) setFloor(in Instruction, from time.Time, age time.Duration) error {
	instructed := in.Delay
	if in.Source == HTTPDate {
		instructed = in.Date.Sub(from) // saturates
	}
	if instructed > horizon {
		return ErrTooFarAhead
	}
	// Retry-After and Date may be cut to their seconds in different ways, so one
	// second of disorder is none.
	if instructed < -time.Second && !p.TrustedClientClock {
		return ErrBeforeDate
	}
	p.Source, p.Instructed, p.Age = in.Source, instructed, age
	p.Floor = max(0, instructed-age)
	p.ClampedToZero = instructed < age
	return nil
}

// check refuses what cannot be meant. Everything that a duration is added to
// later is bounded here, so that no sum wraps into an immediate retry.
func (o *Options) check(now time.Time) error {
	sent, received := o.RequestSentAt, o.ResponseReceivedAt
	switch {
	case o.Attempt < 0:
		return invalid("Attempt is %d, below zero", o.Attempt)
	case o.Jitter.Key != "" && o.Jitter.Rand != nil:
		return invalid("Jitter has both Key and Rand")
	case o.Jitter.Spread < 0 || o.Jitter.Spread > horizon:
		return invalid("Jitter.Spread is %v, not 0 to 50 years", o.Jitter.Spread)
	case o.Age != nil && (*o.Age < 0 || *o.Age > horizon):
		return invalid("Age is %v, not 0 to 50 years", *o.Age)
	case o.MinWait < 0 || o.MinWait > horizon:
		return invalid("MinWait is %v, not 0 to 50 years", o.MinWait)
	case o.MaxWait < 0:
		return invalid("MaxWait is %v, below zero", o.MaxWait)
	case o.OnMissingDate > TrustClientClock:
		return invalid("OnMissingDate is %d, not a MissingDate", o.OnMissingDate)
	case sent.IsZero() && received.IsZero():
		return nil
	case sent.IsZero():
		return invalid("ResponseReceivedAt is given without RequestSentAt")
	case received.IsZero():
		return invalid("RequestSentAt is given without ResponseReceivedAt")
	case hasMonotonic(now) && !(hasMonotonic(sent) && hasMonotonic(received)):
		return invalid("RequestSentAt or ResponseReceivedAt has no monotonic reading: " +
			"take both from time.Now, as they are")
	case received.Sub(sent) < 0:
		return invalid("RequestSentAt is %v after ResponseReceivedAt", sent.Sub(received))
	case received.Sub(sent) > horizon:
		return invalid("ResponseReceivedAt is %v after RequestSentAt, more than 50 years", received.Sub(sent))
	case now.Sub(received).Abs() > horizon:
		return invalid("ResponseReceivedAt is more than 50 years from now")
	}
	return nil
}

// hasMonotonic reports whether a time has a monotonic reading, which Round strips.
func hasMonotonic(t time.Time) bool { return t != t.Round(0) }

// response is what a header says of its response.
type response struct {
	retryAfter []string      // the field lines, not read yet
	dateLines  []string      // for an error about them
	date       time.Time     // RFC 9110 §6.6.1
	dateErr    error         // why there is no date, bare; ErrMissingDate is one
	age        time.Duration // RFC 9111 §5.1; 0 without a valid one
}

// read fills r in place, as Plan does its plan: a struct of this size costs to copy.
func (r *response) read(header http.Header) {
	// Where Retry-After is under its canonical name, so are the others, for that
	// is how net/http keeps them all.
	retryAfter, date, age := header["Retry-After"], header["Date"], header["Age"]
	if len(retryAfter) == 0 {
		retryAfter = foldedLines(header, "Retry-After")
		date = foldedLines(header, "Date")
		age = foldedLines(header, "Age")
	}
	r.retryAfter, r.dateLines, r.age = retryAfter, date, parseAge(age)
	r.date, r.dateErr = parseDate(date)
}

// foldedLines returns the lines under all spellings of a name. Those of several
// spellings are sorted, since a map has no order and a plan must have one.
func foldedLines(header http.Header, name string) []string {
	var lines []string
	for key, more := range header {
		switch {
		case len(more) == 0 || !strings.EqualFold(key, name):
		case lines == nil:
			lines = more
		default:
			lines = slices.Concat(lines, more)
			slices.Sort(lines)
		}
	}
	return lines
}

// parseDate reads Date as strictly as Retry-After. Its errors are bare, for with
// delay-seconds nobody sees them.
func parseDate(lines []string) (time.Time, error) {
	switch len(lines) {
	case 0:
		return time.Time{}, ErrMissingDate
	case 1:
		s := trimBlanks(lines[0])
		date, err := parseHTTPDate(s)
		if err != nil {
			return time.Time{}, fault(s, err)
		}
		return date, nil
	}
	return time.Time{}, ErrMultipleValues
}

// parseAge takes the first member of a list and ignores a value that is
// invalid, as RFC 9111 §5.1 has it: the wait is then longer, and so safe.
func parseAge(lines []string) time.Duration {
	if len(lines) == 0 {
		return 0
	}
	first, _, _ := strings.Cut(lines[0], ",")
	age, err := parseDelaySeconds(trimBlanks(first))
	if err != nil {
		return 0
	}
	return age
}

// String returns the plan and how it was computed in one line, such as
//
//	wait 12.5s = floor 10s (http-date 30s - age 20s) + jitter 2.5s of 2.5s; client clock 40s ahead
func (p RetryPlan) String() string {
	if p.Deadline.IsZero() {
		return "no plan"
	}
	base := fmt.Sprintf("floor %v", p.Floor)
	if minWait := p.Wait - p.Jitter; minWait > p.Floor {
		base = fmt.Sprintf("MinWait %v over floor %v", minWait, p.Floor)
	}
	return fmt.Sprintf("wait %v = %s (%s) + jitter %v of %v; %s",
		p.Wait, base, p.instruction(), p.Jitter, p.Spread, p.clocks())
}

// instruction says where the floor comes from.
func (p *RetryPlan) instruction() string {
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

// clocks says what is known of this client's clock.
func (p *RetryPlan) clocks() string {
	skew := p.Skew.Round(time.Second)
	switch {
	case p.TrustedClientClock:
		return "counted from the client clock, without a Date"
	case !p.SkewKnown:
		return "client clock unknown, without a usable Date"
	case p.Skew.Abs() <= time.Second: // what the cut of Date to its second makes of none
		return "client clock right to a second"
	case skew < 0:
		return fmt.Sprintf("client clock %v behind", skew.Abs())
	}
	return fmt.Sprintf("client clock %v ahead", skew)
}

// LogValue returns a group with every field of the plan, named in snake case:
// durations as durations, which a JSON handler writes in nanoseconds, and the
// deadline as the wall time estimated at this moment. It implements
// [slog.LogValuer].
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
