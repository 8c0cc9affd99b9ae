package retryafter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

const (
	d0  = "Tue, 04 Aug 2026 12:00:00 GMT"
	d30 = "Tue, 04 Aug 2026 12:00:30 GMT"

	second = time.Second
	year   = 8766 * time.Hour // 365.25 days
)

// t0 is the instant of d0.
var t0 = time.Date(2026, 8, 4, 12, 0, 0, 0, time.UTC)

func atFloor() float64 { return 0 } // a Rand that adds nothing
func atTop() float64   { return 1 } // a Rand that adds all there is

// fields makes a header of names and values, with the names as they are.
func fields(pairs ...string) http.Header {
	header := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = append(header[pairs[i]], pairs[i+1])
	}
	return header
}

func ptr[T any](v T) *T { return &v }

// planOn is Plan on a client whose wall clock stands at the given time, and whose
// process is an hour old. If the error is a LimitError, it returns the plan in it.
func planOn(wall time.Time, header http.Header, opts Options) (RetryPlan, error) {
	p, err := planAt(instant{wall: wall, mono: time.Hour}, header, &opts)
	var limit *LimitError
	if errors.As(err, &limit) {
		p = limit.Plan
	}
	return p, err
}

// planCase is a header and options, with the plan or the error that they make on
// a client whose clock stands at t0. Jitter is none unless the case says. A plan
// is compared as a whole, but for its Deadline, which follows from Wait.
type planCase struct {
	name   string
	header http.Header
	opts   Options
	want   RetryPlan
	err    error
}

// seconds is the plan of "30" and Date d0, and date30 that of d30 and Date d0; a
// case states what it changes.
func seconds(change func(*RetryPlan)) RetryPlan {
	p := RetryPlan{
		Wait: 30 * second, Floor: 30 * second, Spread: 7500 * time.Millisecond,
		Source: DelaySeconds, Instructed: 30 * second, SkewKnown: true,
	}
	if change != nil {
		change(&p)
	}
	return p
}

func date30(change func(*RetryPlan)) RetryPlan {
	return seconds(func(p *RetryPlan) {
		p.Source = HTTPDate
		if change != nil {
			change(p)
		}
	})
}

// floorOf sets the floor, and the wait and the window that follow from it.
func floorOf(floor time.Duration) func(*RetryPlan) {
	return func(p *RetryPlan) {
		p.Floor, p.Wait = floor, floor
		p.Spread = min(max(floor/4, 250*time.Millisecond), 30*second)
	}
}

func noSkew(p *RetryPlan) { p.SkewKnown, p.Skew = false, 0 }

func all(changes ...func(*RetryPlan)) func(*RetryPlan) {
	return func(p *RetryPlan) {
		for _, change := range changes {
			change(p)
		}
	}
}

func aged(age time.Duration) func(*RetryPlan) {
	return func(p *RetryPlan) {
		p.Age = age
		p.ClampedToZero = p.Instructed < age
		floorOf(max(0, p.Instructed-age))(p)
	}
}

func skewed(skew time.Duration) func(*RetryPlan) { return func(p *RetryPlan) { p.Skew = skew } }

func instructed(d time.Duration) func(*RetryPlan) {
	return func(p *RetryPlan) {
		p.Instructed = d
		floorOf(max(0, d))(p)
		p.ClampedToZero = d < 0
	}
}

var planCases = []planCase{
	{
		name:   "delay-seconds",
		header: fields("Retry-After", "30", "Date", d0),
		want:   seconds(nil),
	}, {
		name:   "HTTP-date",
		header: fields("Retry-After", d30, "Date", d0),
		want:   date30(nil),
	}, {
		name:   "both in obsolete forms",
		header: fields("Retry-After", "Tuesday, 04-Aug-26 12:00:30 GMT", "Date", "Tue Aug  4 12:00:00 2026"),
		want:   date30(nil),
	}, {
		name:   "a real service's pair, years ago",
		header: fields("Retry-After", "Wed, 18 Sep 2019 05:34:00 GMT", "Date", "Wed, 18 Sep 2019 05:33:23 GMT"),
		want:   date30(all(instructed(37*second), skewed(t0.Sub(time.Unix(1568784803, 0))))),
	}, {
		name:   "delay-seconds zero is an instruction",
		header: fields("Retry-After", "0", "Date", d0),
		want:   seconds(instructed(0)),
	}, {
		name:   "HTTP-date equal to Date: zero, and nothing was clamped",
		header: fields("Retry-After", d0, "Date", d0),
		want:   date30(instructed(0)),
	}, {
		name:   "one second before Date is rounding",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0),
		want:   date30(instructed(-second)),
	}, {
		name:   "two seconds before are not",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:58 GMT", "Date", d0),
		err:    ErrBeforeDate,
	}, {
		name:   "nor is an hour",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:00:00 GMT", "Date", d0),
		err:    ErrBeforeDate,
	}, {
		name:   "nor are eight thousand years, which no Duration holds",
		header: fields("Retry-After", d0, "Date", "Fri, 31 Dec 9999 23:59:59 GMT"),
		err:    ErrBeforeDate,
	}, {
		name:   "50 years after Date, to the second",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:00 GMT", "Date", d0),
		want:   date30(instructed(50 * year)),
	}, {
		name:   "a second more",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:01 GMT", "Date", d0),
		err:    ErrTooFarAhead,
	}, {
		name:   "the end of the calendar",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", d0),
		err:    ErrTooFarAhead,
	}, {
		name:   "from its beginning to its end, which no Duration holds",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", "Sat, 01 Jan 0000 00:00:00 GMT"),
		err:    ErrTooFarAhead,
	},
	{name: "wraps negative", header: fields("Retry-After", "9223372037"), err: ErrTooFarAhead},
	{name: "wraps to 290 ms", header: fields("Retry-After", "18446744074"), err: ErrTooFarAhead},
	{name: "a Unix timestamp", header: fields("Retry-After", "1746136938"), err: ErrTooFarAhead},

	// Age.
	{
		name:   "age is taken off an HTTP-date",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		want:   date30(all(aged(20*second), skewed(-20*second))),
	}, {
		name:   "and off delay-seconds",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		want:   seconds(all(aged(20*second), skewed(-20*second))),
	}, {
		name:   "age equal to the delay: zero, and nothing was clamped",
		header: fields("Retry-After", "30", "Age", "30"),
		want:   seconds(all(aged(30*second), noSkew)),
	}, {
		name:   "a second more is clamped",
		header: fields("Retry-After", "30", "Age", "31"),
		want:   seconds(all(aged(31*second), noSkew)),
	}, {
		name:   "a cached 429",
		header: fields("Retry-After", "30", "Age", "689"),
		want:   seconds(all(aged(689*second), noSkew)),
	}, {
		name:   "Age is a list: its first member",
		header: fields("Retry-After", "30", "Age", "20, 7200"),
		want:   seconds(all(aged(20*second), noSkew)),
	}, {
		name:   "which may be zero",
		header: fields("Retry-After", "30", "Age", "0, 7200"),
		want:   seconds(all(aged(0), noSkew)),
	}, {
		name:   "two lines of Age: the first line",
		header: fields("Retry-After", "30", "Age", "\t20 ", "Age", "7200"),
		want:   seconds(all(aged(20*second), noSkew)),
	},
	{name: "Age of letters", header: fields("Retry-After", "30", "Age", "abc"), want: seconds(noSkew)},
	{name: "Age below zero", header: fields("Retry-After", "30", "Age", "-7200"), want: seconds(noSkew)},
	{name: "Age with a fraction", header: fields("Retry-After", "30", "Age", "7200.0"), want: seconds(noSkew)},
	{name: "Age with a sign", header: fields("Retry-After", "30", "Age", "+20"), want: seconds(noSkew)},
	{name: "Age of a Unix time", header: fields("Retry-After", "30", "Age", "1664612639"), want: seconds(noSkew)},
	{name: "Age of twenty nines", header: fields("Retry-After", "30", "Age", strings.Repeat("9", 20)), want: seconds(noSkew)},
	{name: "Age of nothing", header: fields("Retry-After", "30", "Age", " "), want: seconds(noSkew)},
	{name: "Age of an empty first member", header: fields("Retry-After", "30", "Age", ", 20"), want: seconds(noSkew)},
	{
		name:   "the oldest Age believed",
		header: fields("Retry-After", "30", "Age", "1577880000"),
		want:   seconds(all(aged(50*year), noSkew)),
	},
	{name: "a second older", header: fields("Retry-After", "30", "Age", "1577880001"), want: seconds(noSkew)},
	{
		name:   "Options.Age of zero counts from receipt, and the skew still by the field",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		opts:   Options{Age: new(time.Duration)},
		want:   seconds(skewed(-20 * second)),
	}, {
		name:   "also with the two times",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		opts:   Options{Age: new(time.Duration), RequestSentAt: t0.Add(-200 * time.Millisecond), ResponseReceivedAt: t0},
		want:   seconds(skewed(-20200 * time.Millisecond)),
	}, {
		name:   "Options.Age is the whole age",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{Age: ptr(5 * second)},
		want:   date30(all(aged(5*second), skewed(-20*second))),
	}, {
		name:   "the round trip is age",
		header: fields("Retry-After", "30", "Date", d0),
		opts:   Options{RequestSentAt: t0.Add(-200 * time.Millisecond), ResponseReceivedAt: t0},
		want:   seconds(all(aged(200*time.Millisecond), skewed(-200*time.Millisecond))),
	}, {
		name:   "on top of the Age field, and for an HTTP-date",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{RequestSentAt: t0.Add(-200 * time.Millisecond), ResponseReceivedAt: t0},
		want:   date30(all(aged(20200*time.Millisecond), skewed(-20200*time.Millisecond))),
	}, {
		name:   "the skew is that at receipt, and so is the start of the wait",
		header: fields("Retry-After", "30", "Date", d0),
		opts:   Options{RequestSentAt: t0.Add(-5 * second), ResponseReceivedAt: t0.Add(-5 * second)},
		want:   seconds(skewed(-5 * second)),
	}, {
		name:   "a round trip of no time",
		header: fields("Retry-After", "30", "Date", d0),
		opts:   Options{RequestSentAt: t0, ResponseReceivedAt: t0},
		want:   seconds(nil),
	},

	// Date.
	{name: "HTTP-date without Date", header: fields("Retry-After", d30), err: ErrMissingDate},
	{name: "a Date of no lines is no Date", header: http.Header{"Retry-After": {d30}, "Date": {}}, err: ErrMissingDate},
	{
		name:   "TrustClientClock",
		header: fields("Retry-After", d30),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   date30(all(noSkew, trusted)),
	}, {
		name:   "which has aged already, by its own clock",
		header: fields("Retry-After", d30, "Age", "20"),
		opts:   Options{OnMissingDate: TrustClientClock, Age: ptr(10 * second)},
		want:   date30(all(noSkew, trusted)),
	}, {
		name:   "counts from receipt, to the nanosecond",
		header: fields("Retry-After", d30),
		opts: Options{OnMissingDate: TrustClientClock,
			RequestSentAt: t0.Add(-second), ResponseReceivedAt: t0.Add(-1)},
		want: date30(all(noSkew, trusted, instructed(30*second+1))),
	}, {
		name:   "and has no order to be out of: the past is zero",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   date30(all(noSkew, trusted, instructed(-time.Hour))),
	}, {
		name:   "however far it is, and though no Duration holds that",
		header: fields("Retry-After", "Sat, 01 Jan 0000 00:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   date30(all(noSkew, trusted, instructed(math.MinInt64))),
	}, {
		name:   "but the horizon is the same",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		err:    ErrTooFarAhead,
	}, {
		name:   "TrustClientClock has no say where there is a Date",
		header: fields("Retry-After", d30, "Date", d0),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   date30(nil),
	}, {
		name:   "nor with delay-seconds",
		header: fields("Retry-After", "30"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   seconds(noSkew),
	}, {
		name:   "nor where Date is malformed",
		header: fields("Retry-After", d30, "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		err:    ErrDateSyntax,
	},
	{name: "a real service's one-digit day", header: fields("Retry-After", d30, "Date", "Mon, 4 May 2020 08:48:10 GMT"), err: ErrDateSyntax},
	{name: "which delay-seconds does not need", header: fields("Retry-After", "30", "Date", "Mon, 4 May 2020 08:48:10 GMT"), want: seconds(noSkew)},
	{name: "two Dates", header: fields("Retry-After", d30, "Date", d0, "Date", d0), err: ErrMultipleValues},
	{name: "two Dates in a line", header: fields("Retry-After", d30, "Date", d0+", "+d0), err: ErrMultipleValues},
	{name: "a blank Date", header: fields("Retry-After", d30, "Date", " "), err: ErrEmpty},
	{name: "a Date of seconds", header: fields("Retry-After", d30, "Date", "120"), err: ErrDateSyntax},
	{name: "a Date of another zone", header: fields("Retry-After", d30, "Date", "Tue, 04 Aug 2026 12:00:00 UTC"), err: ErrNonGMTZone},
	{name: "two Dates with delay-seconds", header: fields("Retry-After", "30", "Date", d0, "Date", d0), want: seconds(noSkew)},
	{name: "joined", header: fields("Retry-After", "30", "Date", d0+", "+d0), want: seconds(noSkew)},
	{name: "a blank Date with delay-seconds", header: fields("Retry-After", "30", "Date", " "), want: seconds(noSkew)},
	{name: "a Date of seconds with delay-seconds", header: fields("Retry-After", "30", "Date", "120"), want: seconds(noSkew)},

	// Field lines, and the names they stand under.
	{name: "two lines of one value", header: fields("Retry-After", "7", "Retry-After", "7"), err: ErrMultipleValues},
	{name: "two values", header: fields("Retry-After", "1", "Retry-After", "120"), err: ErrMultipleValues},
	{name: "two lines that joined would be a date", header: fields("Retry-After", "Tue", "Retry-After", "04 Aug 2026 12:00:30 GMT", "Date", d0), err: ErrMultipleValues},
	{name: "of Date as well", header: fields("Retry-After", d30, "Date", "Tue", "Date", "04 Aug 2026 12:00:00 GMT"), err: ErrMultipleValues},
	{name: "an empty one and a good one", header: fields("Retry-After", "", "Retry-After", "120"), err: ErrMultipleValues},
	{
		name:   "names in lower case",
		header: fields("retry-after", d30, "date", d0, "age", "20"),
		want:   date30(all(aged(20*second), skewed(-20*second))),
	}, {
		name:   "in any",
		header: fields("RETRY-after", d30, "dATE", d0, "AGE", "20"),
		want:   date30(all(aged(20*second), skewed(-20*second))),
	}, {
		name:   "the canonical Date beside them counts",
		header: fields("retry-after", d30, "Date", d0),
		want:   date30(nil),
	}, {
		name:   "where Retry-After and Date are canonical, only canonical names count",
		header: fields("Retry-After", "30", "Date", d0, "retry-after", "60", "date", d30, "age", "20"),
		want:   seconds(nil),
	}, {
		name:   "a Date in lower case beside a canonical Retry-After counts",
		header: fields("Retry-After", d30, "date", d0, "age", "20"),
		want:   date30(all(aged(20*second), skewed(-20*second))),
	},
	{name: "two spellings of Retry-After without a canonical Date", header: fields("Retry-After", "30", "retry-after", "60"), err: ErrMultipleValues},
	{name: "two spellings are two lines", header: fields("retry-after", "30", "RETRY-AFTER", "30"), err: ErrMultipleValues},
	{name: "two spellings of Date", header: fields("retry-after", d30, "date", d0, "DATE", d0), err: ErrMultipleValues},
	{name: "no header", err: ErrNoRetryAfter},
	{name: "no Retry-After", header: fields("Date", d0, "Age", "20"), err: ErrNoRetryAfter},
	{name: "a Retry-After of no lines", header: http.Header{"Retry-After": {}}, err: ErrNoRetryAfter},
	{name: "in any spelling", header: http.Header{"retry-after": nil}, err: ErrNoRetryAfter},
	{name: "a spelling without lines is no other spelling", header: http.Header{"retry-after": {"30"}, "RETRY-AFTER": {}, "Retry-After": nil}, want: seconds(noSkew)},
	{name: "names that are not", header: fields("Retry_After", "30", "X-Retry-After", "30", "Retry-Afte\u0155", "30"), err: ErrNoRetryAfter},
	{name: "an empty Retry-After is there", header: fields("Retry-After", ""), err: ErrEmpty},
	{name: "a refused one", header: fields("Retry-After", "30s"), err: ErrDelaySyntax},

	// The caller's own backoff.
	{
		name:   "zero on every 429, MinWait 8 s",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * second},
		want:   seconds(all(instructed(0), noSkew, minWait(8*second))),
	}, {
		name:   "the same, and the top of the window",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * second, Jitter: Jitter{Rand: atTop}},
		want:   seconds(all(instructed(0), noSkew, minWait(8*second), jitter(2*second))),
	}, {
		name:   "a MinWait below the floor adds nothing",
		header: fields("Retry-After", "30"),
		opts:   Options{MinWait: 8 * second},
		want:   seconds(noSkew),
	}, {
		name:   "without Retry-After the plan waits MinWait",
		header: fields("Date", d0, "Age", "20"),
		opts:   Options{MinWait: 8 * second, Jitter: Jitter{Rand: atTop}},
		want:   RetryPlan{Wait: 10 * second, Jitter: 2 * second, Spread: 2 * second, Skew: -20 * second, SkewKnown: true},
	}, {
		name: "however short that is",
		opts: Options{MinWait: 1},
		want: RetryPlan{Wait: 1, Spread: 250 * time.Millisecond},
	}, {
		name: "which MaxWait bounds as any other",
		opts: Options{MinWait: 8 * second, MaxWait: 9 * second, Jitter: Jitter{Rand: atTop}},
		want: RetryPlan{Wait: 9 * second, Jitter: second, Spread: second},
	}, {
		name: "and refuses as any other",
		opts: Options{MinWait: 8 * second, MaxWait: 8 * second},
		want: RetryPlan{Wait: 8 * second, Spread: 2 * second},
		err:  ErrExceedsMaxWait,
	},

	// The window.
	{
		name:   "the top of a quarter",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Rand: atTop}},
		want:   seconds(all(noSkew, jitter(7500*time.Millisecond))),
	}, {
		name:   "the middle",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Rand: func() float64 { return 0.5 }}},
		want:   seconds(all(noSkew, jitter(3750*time.Millisecond))),
	}, {
		name:   "the narrowest that is not asked for",
		header: fields("Retry-After", "1"),
		opts:   Options{Jitter: Jitter{Rand: atTop}},
		want:   seconds(all(noSkew, instructed(second), jitter(250*time.Millisecond))),
	}, {
		name:   "a quarter from there on",
		header: fields("Retry-After", "2"),
		opts:   Options{Jitter: Jitter{Rand: atTop}},
		want:   seconds(all(noSkew, instructed(2*second), jitter(500*time.Millisecond))),
	}, {
		name:   "up to the widest",
		header: fields("Retry-After", "119"),
		opts:   Options{Jitter: Jitter{Rand: atTop}},
		want:   seconds(all(noSkew, instructed(119*second), jitter(29750*time.Millisecond))),
	}, {
		name:   "that is not asked for",
		header: fields("Retry-After", "121"),
		opts:   Options{Jitter: Jitter{Rand: atTop}},
		want:   seconds(all(noSkew, instructed(121*second), jitter(30*second))),
	}, {
		name:   "a Spread is taken as it is",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Spread: time.Hour, Rand: atTop}},
		want:   seconds(all(noSkew, spread(time.Hour), jitter(time.Hour))),
	}, {
		name:   "narrow as well",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Spread: 1, Rand: atTop}},
		want:   seconds(all(noSkew, spread(1), jitter(1))),
	}, {
		name:   "the widest, which a float64 rounds up",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Spread: 50*year - 1, Rand: atTop}},
		want:   seconds(all(noSkew, spread(50*year-1), jitter(50*year-1))),
	}, {
		name:   "all that is the longest at once",
		header: fields("Retry-After", "1577880000"),
		opts:   Options{MinWait: 50 * year, MaxWait: math.MaxInt64, Jitter: Jitter{Spread: 50 * year, Rand: atTop}},
		want:   seconds(all(noSkew, instructed(50*year), spread(50*year), jitter(50*year))),
	},

	// MaxWait. Whatever the draw: see TestMaxWaitWhateverTheDraw.
	{
		name:   "an hour and MaxWait 10 s: neither an hour nor ten seconds",
		header: fields("Retry-After", "3600"),
		opts:   Options{MaxWait: 10 * second},
		want:   seconds(all(noSkew, instructed(time.Hour))),
		err:    ErrExceedsMaxWait,
	}, {
		name:   "the floor alone has room, and no window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30 * second},
		want:   seconds(noSkew),
		err:    ErrExceedsMaxWait,
	}, {
		name:   "one millisecond short of a window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30249 * time.Millisecond},
		want:   seconds(noSkew),
		err:    ErrExceedsMaxWait,
	}, {
		name:   "one nanosecond short",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30250*time.Millisecond - 1},
		want:   seconds(noSkew),
		err:    ErrExceedsMaxWait,
	}, {
		name:   "the narrowest window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30250 * time.Millisecond},
		want:   seconds(all(noSkew, spread(250*time.Millisecond))),
	}, {
		name:   "a window cut",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 35 * second},
		want:   seconds(all(noSkew, spread(5*second))),
	}, {
		name:   "a window whole",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 40 * second},
		want:   seconds(noSkew),
	}, {
		name:   "a Spread that is less than 250 ms needs no more",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30*second + 1, Jitter: Jitter{Spread: 1}},
		want:   seconds(all(noSkew, spread(1))),
	}, {
		name:   "but that",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30 * second, Jitter: Jitter{Spread: 1}},
		want:   seconds(all(noSkew, spread(1))),
		err:    ErrExceedsMaxWait,
	}, {
		name:   "MinWait above MaxWait",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * second, MaxWait: 5 * second},
		want:   seconds(all(noSkew, instructed(0), minWait(8*second))),
		err:    ErrExceedsMaxWait,
	}, {
		name:   "a MaxWait of a nanosecond refuses even a floor of zero",
		header: fields("Retry-After", "0"),
		opts:   Options{MaxWait: 1},
		want:   seconds(all(noSkew, instructed(0))),
		err:    ErrExceedsMaxWait,
	},
}

func trusted(p *RetryPlan) { p.TrustedClientClock = true }

func jitter(d time.Duration) func(*RetryPlan) {
	return func(p *RetryPlan) { p.Jitter, p.Wait = d, p.Wait+d }
}

func spread(d time.Duration) func(*RetryPlan) { return func(p *RetryPlan) { p.Spread = d } }

func minWait(d time.Duration) func(*RetryPlan) {
	return func(p *RetryPlan) { p.Wait, p.Spread = d, d/4 }
}

func TestPlan(t *testing.T) {
	for _, c := range planCases {
		t.Run(c.name, func(t *testing.T) {
			if c.opts.Jitter.Rand == nil {
				c.opts.Jitter.Rand = atFloor
			}
			got, err := planOn(t0, c.header, c.opts)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			want := c.want
			if want != (RetryPlan{}) {
				want.Deadline = Deadline{mono: time.Hour + want.Wait, set: true}
				if !c.opts.ResponseReceivedAt.IsZero() {
					want.Deadline.mono -= t0.Sub(c.opts.ResponseReceivedAt)
				}
			}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestPlanFieldErrors looks at what the errors of a header hold.
func TestPlanFieldErrors(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   FieldError
	}{
		{fields("Retry-After", " 30s "), FieldError{Field: "Retry-After", Value: " 30s ", Err: ErrDelaySyntax}},
		{fields("Retry-After", "7", "Retry-After", " 7"), FieldError{Field: "Retry-After", Value: "7,  7", Err: ErrMultipleValues}},
		// The order of a map is chance; that of an error is not.
		{fields("RETRY-AFTER", "9", "retry-after", "3", "Retry-after", "6"), FieldError{Field: "Retry-After", Value: "3, 6, 9", Err: ErrMultipleValues}},
		{fields("Retry-After", d30), FieldError{Field: "Retry-After", Value: d30, Err: ErrMissingDate}},
		{fields("Retry-After", d0, "Date", d30), FieldError{Field: "Retry-After", Value: d0, Err: ErrBeforeDate, origin: ` beside Date "` + d30 + `"`}},
		{fields("Retry-After", d30, "Date", d0, "Date", " "), FieldError{Field: "Date", Value: d0 + ",  ", Err: ErrMultipleValues}},
		{fields("Retry-After", d30, "Date", "\tx"), FieldError{Field: "Date", Value: "\tx", Err: ErrDateSyntax}},
	} {
		for range 10 {
			_, err := Plan(c.header, Options{})
			var got *FieldError
			if !errors.As(err, &got) || *got != c.want {
				t.Fatalf("%v: %#v, want %#v", c.header, got, c.want)
			}
		}
	}
}

// TestFoldedAge has two spellings of Age in a header made by hand: whatever is
// made of them, it is the same each time.
func TestFoldedAge(t *testing.T) {
	header := fields("retry-after", "30", "age", "20", "AGE", "10")
	for range 20 {
		if p, err := Plan(header, Options{}); err != nil || p.Age != 10*second {
			t.Fatalf("%v, %v", p, err)
		}
	}
	if want := fields("retry-after", "30", "age", "20", "AGE", "10"); fmt.Sprint(header) != fmt.Sprint(want) {
		t.Errorf("the header is now %v", header)
	}
}

// TestNoDrawIsEarly draws a thousand times over a second, where a symmetric
// jitter elsewhere put 23 of 50 below the floor.
func TestNoDrawIsEarly(t *testing.T) {
	longest := time.Duration(0)
	places := map[time.Duration]bool{}
	for range 1000 {
		p, err := Plan(fields("Retry-After", "1"), Options{})
		if err != nil || p.Wait < second || p.Wait > 1250*time.Millisecond || p.Floor != second {
			t.Fatalf("%v, %v", p, err)
		}
		longest = max(longest, p.Jitter)
		places[p.Jitter] = true
	}
	// Of 1,000 fair draws none is in the top fifth once in 0.8^-1000 tests, and two
	// of 250 million nanoseconds are the same in one of 500 tests, ten pairs in none.
	if longest < 200*time.Millisecond || len(places) < 990 {
		t.Errorf("%d different places of a thousand, up to %v of 250ms", len(places), longest)
	}
}

// TestRandIsCalledOnce has Rand called once for a plan, and not at all without.
func TestRandIsCalledOnce(t *testing.T) {
	calls := 0
	count := func() float64 { calls++; return 0 }
	for _, c := range planCases {
		calls = 0
		opts := c.opts
		opts.Jitter.Rand = count
		p, _ := planOn(t0, c.header, opts)
		if planned := p != (RetryPlan{}); planned && calls != 1 || !planned && calls != 0 {
			t.Errorf("%s: %d calls, plan %v", c.name, calls, p)
		}
	}
	calls = 0
	opts := Options{MinWait: -1, Jitter: Jitter{Rand: count}}
	if _, err := Plan(fields("Retry-After", "30"), opts); err == nil || calls != 0 {
		t.Errorf("invalid options: %v after %d calls", err, calls)
	}
}

// TestInvalidOptions has every bound from both sides, with a header of every kind.
func TestInvalidOptions(t *testing.T) {
	now := time.Now()
	times := func(sent, received time.Time) Options {
		return Options{RequestSentAt: sent, ResponseReceivedAt: received}
	}
	random := func(v float64) Options { return Options{Jitter: Jitter{Rand: func() float64 { return v }}} }
	for _, c := range []struct {
		names string // what the message names; empty: the options are valid
		opts  Options
	}{
		{"", Options{}},
		{"Attempt", Options{Attempt: -1}},
		{"", Options{Attempt: math.MaxInt}},
		{"Age", Options{Age: ptr(time.Duration(-1))}},
		{"", Options{Age: ptr(50 * year)}},
		{"Age", Options{Age: ptr(50*year + 1)}},
		{"Age", Options{Age: ptr(time.Duration(math.MaxInt64))}},
		{"MinWait", Options{MinWait: -1}},
		{"", Options{MinWait: 50 * year}},
		{"MinWait", Options{MinWait: 50*year + 1}},
		{"MinWait", Options{MinWait: math.MaxInt64}},
		{"MaxWait", Options{MaxWait: -1}},
		{"", Options{MaxWait: math.MaxInt64}},
		{"Spread", Options{Jitter: Jitter{Spread: -1}}},
		{"", Options{Jitter: Jitter{Spread: 50 * year}}},
		{"Spread", Options{Jitter: Jitter{Spread: 50*year + 1}}},
		{"Spread", Options{Jitter: Jitter{Spread: math.MaxInt64}}},
		{"OnMissingDate", Options{OnMissingDate: TrustClientClock + 1}},
		{"Key and Rand", Options{Jitter: Jitter{Key: "k", Rand: atFloor}}},
		{"", Options{Jitter: Jitter{Key: "k"}}},

		{"", times(now, now)},
		{"without ResponseReceivedAt", times(now, time.Time{})},
		{"without RequestSentAt", times(time.Time{}, now)},
		{"1ns after", times(now.Add(1), now)},
		{"monotonic", times(now.UTC(), now.UTC())},
		{"monotonic", times(now.Round(0), now)},
		{"monotonic", times(now, now.Round(0))},
		{"", times(now.Add(-50*year), now)},
		{"50 years", times(now.Add(-50*year-1), now)},
		// A minute on either side of the bound, since Plan looks at the clock itself.
		{"", times(now.Add(-50*year+time.Minute), now.Add(-50*year+time.Minute))},
		{"50 years", times(now.Add(-50*year-time.Minute), now.Add(-50*year-time.Minute))},
		{"", times(now.Add(50*year-time.Minute), now.Add(50*year-time.Minute))},
		{"50 years", times(now.Add(50*year+time.Minute), now.Add(50*year+time.Minute))},

		{"", random(0)},
		{"", random(1)},
		{"", random(math.Copysign(0, -1))},
		{"Rand", random(math.NaN())},
		{"Rand", random(-0.1)},
		{"Rand", random(math.Nextafter(0, -1))},
		{"Rand", random(1.1)},
		{"Rand", random(math.Nextafter(1, 2))},
		{"Rand", random(math.Inf(1))},
		{"Rand", random(math.Inf(-1))},
	} {
		headers := []http.Header{fields("Retry-After", "30")}
		if !strings.HasPrefix(c.names, "Rand") { // which nobody asks where there is nothing to wait
			headers = append(headers, nil, fields("Retry-After", "x"), fields("Retry-After", d30))
		}
		for _, header := range headers {
			p, err := Plan(header, c.opts)
			if c.names == "" {
				if errors.Is(err, ErrInvalidOptions) {
					t.Errorf("%+v with %v: %v", c.opts, header, err)
				}
			} else if !errors.Is(err, ErrInvalidOptions) || !strings.Contains(err.Error(), c.names) || p != (RetryPlan{}) {
				t.Errorf("%+v with %v: %v, %v; want an error that names %s", c.opts, header, p, err, c.names)
			}
		}
	}
	// A bad Rand is a bug even where the plan would be refused for its length.
	opts := random(math.NaN())
	opts.MaxWait = 1
	if p, err := Plan(fields("Retry-After", "30"), opts); !errors.Is(err, ErrInvalidOptions) || p != (RetryPlan{}) {
		t.Errorf("a bad Rand and a short MaxWait: %v, %v", p, err)
	}
}

// TestPlanInBubble is where no time has a monotonic reading, and none is missed.
func TestPlanInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := time.Now()
		time.Sleep(200 * time.Millisecond)
		received := time.Now()
		time.Sleep(second) // between the response and the plan
		opts := Options{RequestSentAt: sent, ResponseReceivedAt: received.UTC(), Jitter: Jitter{Rand: atFloor}}
		p, err := Plan(fields("Retry-After", "30"), opts)
		if err != nil || p.Floor != 29800*time.Millisecond {
			t.Fatalf("%v, %v", p, err)
		}
		if got, want := p.Deadline.Remaining(), 28800*time.Millisecond; got != want {
			t.Errorf("%v remain, want %v: the wait is from the receipt", got, want)
		}
		if got, want := p.Deadline.EstimatedWall(), received.Add(p.Wait); !got.Equal(want) {
			t.Errorf("ends at %v, want %v", got, want)
		}
		if err := WaitFor(t.Context(), p); err != nil || time.Since(received) != p.Wait {
			t.Errorf("%v, %v after receipt; want %v", err, time.Since(received), p.Wait)
		}
		time.Sleep(second)
		if got := p.Deadline.Remaining(); got != -second {
			t.Errorf("%v remain a second after the deadline", got)
		}
	})
}

func TestDeadline(t *testing.T) {
	var zero Deadline
	if !zero.IsZero() || zero.Remaining() != 0 || !zero.EstimatedWall().IsZero() {
		t.Errorf("the zero Deadline: %v, %v, %v", zero.IsZero(), zero.Remaining(), zero.EstimatedWall())
	}
	p, err := Plan(fields("Retry-After", "30"), Options{})
	if err != nil || p.Deadline.IsZero() {
		t.Fatal(p, err)
	}
	if left := p.Deadline.Remaining(); left > p.Wait {
		t.Errorf("%v remain of %v", left, p.Wait)
	}
	if wall := p.Deadline.EstimatedWall(); hasMonotonic(wall) {
		t.Errorf("%v has a monotonic reading", wall)
	}
	if !processStart.monotonic || !hasMonotonic(systemNow().wall) {
		t.Errorf("the clock of this process is read without its monotonic part")
	}
	// A deadline on the very zero of the clock is set like any other.
	now := instant{wall: t0, mono: -30 * second}
	q, err := planAt(now, fields("Retry-After", "30"), &Options{Jitter: Jitter{Rand: atFloor}})
	if err != nil {
		t.Fatal(err)
	}
	if q.Deadline.IsZero() || q.Deadline.remainingAt(now) != 30*second || q.Deadline.wallAt(now) != t0.Add(30*second) {
		t.Errorf("a deadline at 0: %+v", q.Deadline)
	}
}

// TestWaitFor is exact to the nanosecond, in a bubble: not done one before the
// deadline, done at it.
func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Plan(fields("Retry-After", "30"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- WaitFor(t.Context(), p) }()
		time.Sleep(p.Wait - 1)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("one nanosecond early: %v", err)
		default:
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("not done at the deadline")
		}
	})
}

var (
	errCause = errors.New("the user went home")
	errPeer  = fmt.Errorf("%w by the peer", context.Canceled)
)

// TestWaitForUnderContexts has the checks in their order, each against the ones
// after it, and how long each takes.
func TestWaitForUnderContexts(t *testing.T) {
	const long = 10 * time.Minute
	plan := func(wait time.Duration) RetryPlan {
		p, err := Plan(fields("Retry-After", "0"), Options{MinWait: wait, Jitter: Jitter{Spread: 1, Rand: atFloor}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	passed := func() RetryPlan {
		p := plan(second)
		time.Sleep(second)
		return p
	}
	canceled := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	// The bubble would not end before the timers of these contexts, but for t.Cleanup.
	within := func(t *testing.T, d time.Duration) context.Context {
		ctx, cancel := context.WithTimeoutCause(context.Background(), d, errCause)
		t.Cleanup(cancel)
		return ctx
	}
	for _, c := range []struct {
		name string
		plan func() RetryPlan
		ctx  func(t *testing.T) context.Context
		want []error // all of which the error is; none: nil
		not  error   // which it is not
		text string  // of the error, if it matters
		took time.Duration
	}{
		{
			name: "no plan comes first",
			plan: func() RetryPlan { return RetryPlan{} },
			ctx:  func(*testing.T) context.Context { return canceled(nil) },
			want: []error{ErrZeroPlan}, not: context.Canceled,
		}, {
			name: "a plan made by hand is none",
			plan: func() RetryPlan { return RetryPlan{Wait: second, Floor: second} },
			ctx:  func(t *testing.T) context.Context { return t.Context() },
			want: []error{ErrZeroPlan},
		}, {
			name: "a done context before a passed plan",
			plan: passed,
			ctx:  func(*testing.T) context.Context { return canceled(nil) },
			want: []error{context.Canceled},
		}, {
			name: "and its cause with it",
			plan: passed,
			ctx:  func(*testing.T) context.Context { return canceled(errCause) },
			want: []error{context.Canceled, errCause},
		}, {
			name: "an expired one likewise",
			plan: func() RetryPlan { return plan(long) },
			ctx: func(t *testing.T) context.Context {
				ctx := within(t, second)
				time.Sleep(second)
				<-ctx.Done()
				return ctx
			},
			want: []error{context.DeadlineExceeded, errCause}, not: ErrExceedsDeadline,
		}, {
			name: "a passed plan before a context about to expire",
			plan: passed,
			ctx:  func(t *testing.T) context.Context { return within(t, 1) },
		}, {
			name: "a plan passed long ago",
			plan: func() RetryPlan { p := plan(second); time.Sleep(time.Hour); return p },
			ctx:  func(t *testing.T) context.Context { return t.Context() },
		}, {
			name: "a plan of 10 min in a context of 5",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long/2) },
			want: []error{ErrExceedsDeadline, context.DeadlineExceeded}, not: errCause,
		}, {
			name: "a context that ends a nanosecond before the plan",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long-1) },
			want: []error{ErrExceedsDeadline},
		}, {
			name: "or with it",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long) },
			want: []error{ErrExceedsDeadline},
		}, {
			name: "but not one that ends a nanosecond after it",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long+1) },
			took: long,
		}, {
			name: "a plan of 5 min, canceled at 1 s",
			plan: func() RetryPlan { return plan(5 * time.Minute) },
			ctx: func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(second, func() { cancel(errCause) })
				return ctx
			},
			want: []error{context.Canceled, errCause},
			took: second,
		}, {
			name: "canceled with no cause of its own",
			plan: func() RetryPlan { return plan(5 * time.Minute) },
			ctx: func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(second, cancel)
				return ctx
			},
			want: []error{context.Canceled},
			took: second,
		}, {
			name: "a cause that is a cancellation itself",
			plan: passed,
			ctx:  func(*testing.T) context.Context { return canceled(errPeer) },
			want: []error{context.Canceled, errPeer}, text: errPeer.Error(),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ctx := c.plan(), c.ctx(t)
				start := time.Now()
				err := WaitFor(ctx, p)
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if (err == nil) != (c.want == nil) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("error %v is not %v", err, want)
					}
				}
				if c.not != nil && errors.Is(err, c.not) {
					t.Errorf("error %v is %v", err, c.not)
				}
				if c.text != "" && err.Error() != c.text {
					t.Errorf("error %v, want %s", err, c.text)
				}
				if ctx.Err() != nil && context.Cause(ctx) == ctx.Err() && err != ctx.Err() && err != ErrZeroPlan {
					t.Errorf("error %v, want ctx.Err() as it is", err)
				}
			})
		})
	}
}

// oddContext has an error of a type that cannot be compared.
type oddContext struct{ context.Context }

// brokenContext is done and has no error, which no context may be.
type brokenContext struct{ oddContext }

func (brokenContext) Err() error { return nil }

type oddError []string

func (e oddError) Error() string { return e[0] }

func (oddContext) Err() error            { return oddError{"done, oddly"} }
func (oddContext) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }

func TestWaitForOddContext(t *testing.T) {
	p, _ := Plan(fields("Retry-After", "30"), Options{})
	if err := WaitFor(oddContext{context.Background()}, p); err == nil || !strings.Contains(err.Error(), "done, oddly") {
		t.Errorf("error %v", err)
	}
	if err := WaitFor(brokenContext{oddContext{context.Background()}}, p); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestRetryPlanString reads the line and the record of a plan of each kind.
func TestRetryPlanString(t *testing.T) {
	for _, c := range []struct {
		client time.Duration // its clock, ahead of t0
		header http.Header
		opts   Options
		want   string
	}{
		{
			40 * second, fields("Retry-After", d30, "Date", d0), Options{},
			"wait 37.5s = floor 30s (http-date 30s) + jitter 7.5s of 7.5s; client clock 40s ahead",
		}, {
			-39600 * time.Millisecond, fields("Retry-After", "30", "Date", d0, "Age", "20"), Options{},
			"wait 12.5s = floor 10s (delay-seconds 30s - age 20s) + jitter 2.5s of 2.5s; client clock 1m0s behind",
		}, {
			second, fields("Retry-After", "30", "Date", d0, "Age", "0"), Options{},
			"wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; client clock correct to a second",
		}, {
			-second, fields("Retry-After", "30", "Date", d0), Options{},
			"wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; client clock correct to a second",
		}, {
			-second - 1, fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0), Options{},
			"wait 250ms = floor 0s (http-date -1s, clamped to zero) + jitter 250ms of 250ms; client clock 1s behind",
		}, {
			second + 1, fields("Retry-After", "0", "Date", d0), Options{MinWait: 8 * second, Jitter: Jitter{Rand: func() float64 { return 0.5 }}},
			"wait 9s = MinWait 8s over floor 0s (delay-seconds 0s) + jitter 1s of 2s; client clock 1s ahead",
		}, {
			0, fields("Retry-After", "0", "Date", "Fri, 31 Dec 9999 23:59:59 GMT"), Options{},
			"wait 250ms = floor 0s (delay-seconds 0s) + jitter 250ms of 250ms; client clock 2562047h47m16.854775807s behind",
		}, {
			0, fields("Retry-After", "30", "Age", "689"), Options{MinWait: 8 * second},
			"wait 10s = MinWait 8s over floor 0s (delay-seconds 30s - age 11m29s, clamped to zero) + jitter 2s of 2s; client clock unknown: no usable Date",
		}, {
			0, nil, Options{MinWait: 8 * second},
			"wait 10s = MinWait 8s over floor 0s (no Retry-After) + jitter 2s of 2s; client clock unknown: no usable Date",
		}, {
			0, fields("Retry-After", d30), Options{OnMissingDate: TrustClientClock},
			"wait 37.5s = floor 30s (http-date 30s) + jitter 7.5s of 7.5s; counted from the client's clock: no Date",
		},
	} {
		if c.opts.Jitter.Rand == nil {
			c.opts.Jitter.Rand = atTop
		}
		p, err := planOn(t0.Add(c.client), c.header, c.opts)
		if err != nil && !errors.Is(err, ErrNoRetryAfter) {
			t.Fatal(err)
		}
		if got := p.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := (RetryPlan{}).String(); got != "no plan" {
		t.Errorf("the zero plan prints as %q", got)
	}
}

func TestLogValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := fields("Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT", "Date", "Fri, 31 Dec 1999 23:59:20 GMT", "Age", "20")
		p, err := Plan(header, Options{Jitter: Jitter{Rand: atTop}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(second) // the estimate is of the deadline, not of the call
		var got strings.Builder
		for _, attr := range p.LogValue().Group() {
			if attr.Value.Kind() == slog.KindTime { // in this machine's zone
				attr.Value = slog.TimeValue(attr.Value.Time().UTC())
			}
			fmt.Fprintf(&got, "%s=%v ", attr.Key, attr.Value)
		}
		const want = "wait=1m2.5s floor=50s jitter=12.5s spread=12.5s source=http-date instructed=1m10s age=20s " +
			"skew=20s skew_known=true clamped_to_zero=false trusted_client_clock=false " +
			"deadline=2000-01-01 00:01:02.5 +0000 UTC "
		if got.String() != want {
			t.Errorf("got  %s\nwant %s", got.String(), want)
		}
		for _, attr := range p.LogValue().Group() {
			switch attr.Key {
			case "source":
				continue
			case "deadline":
				if attr.Value.Kind() != slog.KindTime {
					t.Errorf("%s is a %v", attr.Key, attr.Value.Kind())
				}
			case "skew_known", "clamped_to_zero", "trusted_client_clock":
				if attr.Value.Kind() != slog.KindBool {
					t.Errorf("%s is a %v", attr.Key, attr.Value.Kind())
				}
			default:
				if attr.Value.Kind() != slog.KindDuration {
					t.Errorf("%s is a %v", attr.Key, attr.Value.Kind())
				}
			}
		}
	})
	// A handler resolves the value of a plan by itself, even the zero one.
	slog.New(slog.NewTextHandler(io.Discard, nil)).Info("refused", "plan", RetryPlan{})
}

// TestErrorMessages compares whole messages: one for each sentinel and for each
// place in the code that adds to a message.
func TestErrorMessages(t *testing.T) {
	parse := func(value string) error { _, err := ParseRetryAfter(value); return err }
	plan := func(opts Options, pairs ...string) error { _, err := planOn(t0, fields(pairs...), opts); return err }
	wait := func(ctx context.Context, plan RetryPlan) error {
		return clock{now: func() instant { return instant{wall: t0} }}.waitFor(ctx, &plan)
	}
	tenMinutes := RetryPlan{Deadline: Deadline{mono: 10 * time.Minute, set: true}}

	for _, c := range []struct {
		is   error // the sentinel
		err  error
		want string
	}{
		{ErrEmpty, parse(""), `Retry-After "": empty value: have the server send seconds or a date`},
		{ErrMultipleValues, parse("120, 60"), `Retry-After "120, 60": more than one value: ` +
			"have the server and its proxies send exactly one"},
		{ErrMultipleValues, plan(Options{}, "Retry-After", "120", "Retry-After", "60"),
			`Retry-After "120, 60": more than one value: have the server and its proxies send exactly one`},
		{ErrDelaySyntax, parse("-1"), `Retry-After "-1": not a whole number of seconds: have the server send digits only`},
		{ErrTooFarAhead, parse("1577880001"), `Retry-After "1577880001": more than 50 years ahead: ` +
			"have the server send the seconds to wait (not a Unix time) or a nearer date"},
		{ErrTooFarAhead, plan(Options{}, "Retry-After", "Tue, 04 Aug 2076 00:00:01 GMT", "Date", d0),
			`Retry-After "Tue, 04 Aug 2076 00:00:01 GMT" beside Date "Tue, 04 Aug 2026 12:00:00 GMT": ` +
				"more than 50 years ahead: have the server send the seconds to wait (not a Unix time) or a nearer date"},
		{ErrTooFarAhead, plan(Options{OnMissingDate: TrustClientClock}, "Retry-After", "Wed, 04 Aug 2077 12:00:00 GMT"),
			`Retry-After "Wed, 04 Aug 2077 12:00:00 GMT", counted from this client's clock: ` +
				"more than 50 years ahead: have the server send the seconds to wait (not a Unix time) or a nearer date"},
		{ErrDateSyntax, parse("soon"), `Retry-After "soon": not an HTTP-date: ` +
			`have the server send a date like "Sun, 06 Nov 1994 08:49:37 GMT"`},
		{ErrDateName, parse("tue, 04 Aug 2026 12:00:30 GMT"), `Retry-After "tue, 04 Aug 2026 12:00:30 GMT": ` +
			"unknown day or month name: have the server send English names, such as Sun, Sunday and Nov"},
		{ErrNoSuchDay, parse("Mon, 30 Feb 2026 00:00:00 GMT"), `Retry-After "Mon, 30 Feb 2026 00:00:00 GMT": ` +
			"no such day in that month: have the server correct its date"},
		{ErrTimeOfDay, parse("Tue, 04 Aug 2026 24:00:00 GMT"), `Retry-After "Tue, 04 Aug 2026 24:00:00 GMT": ` +
			"no such time of day: have the server send 00:00:00 to 23:59:59, or 23:59:60 for a leap second"},
		{ErrNonGMTZone, parse("Tue, 04 Aug 2026 12:00:30 UTC"), `Retry-After "Tue, 04 Aug 2026 12:00:30 UTC": ` +
			"the time zone is missing or not GMT: have the server convert the time to UTC and write GMT"},
		{ErrDayNameMismatch, parse("Mon, 04 Aug 2026 12:00:30 GMT"), `Retry-After "Mon, 04 Aug 2026 12:00:30 GMT": ` +
			"the day name does not match the date: have the server correct its date"},
		{ErrMissingDate, plan(Options{}, "Retry-After", d30), `Retry-After "Tue, 04 Aug 2026 12:00:30 GMT": ` +
			"no Date field to count from: have the server send or expose Date, or set OnMissingDate to TrustClientClock"},
		{ErrBeforeDate, plan(Options{}, "Retry-After", d0, "Date", d30),
			`Retry-After "Tue, 04 Aug 2026 12:00:00 GMT" beside Date "Tue, 04 Aug 2026 12:00:30 GMT": ` +
				"earlier than the response: have the server use one clock for both, and keep proxies from changing Date"},
		{ErrDateSyntax, plan(Options{}, "Retry-After", d30, "Date", "120"), `Date "120": not an HTTP-date: ` +
			`have the server send a date like "Sun, 06 Nov 1994 08:49:37 GMT"`},
		{ErrNoRetryAfter, plan(Options{}), "no Retry-After field: set MinWait to your own backoff"},
		{ErrExceedsMaxWait, plan(Options{MaxWait: 10 * second}, "Retry-After", "3600"),
			"the wait does not fit in MaxWait: queue the work or tell the caller (needed 1h0m0.25s, limit 10s)"},
		{ErrExceedsDeadline, wait(wallContext{t.Context(), t0.Add(5 * time.Minute)}, tenMinutes),
			"the wait does not fit in the context's deadline: queue the work or tell the caller (needed 10m0s, limit 5m0s)"},
		{ErrExceedsDeadline, wait(wallContext{t.Context(), t0.Add(-time.Minute)}, tenMinutes),
			"the wait does not fit in the context's deadline: queue the work or tell the caller (needed 10m0s, limit 0s)"},
		{ErrInvalidOptions, ErrInvalidOptions, "invalid options"},
		{ErrZeroPlan, wait(t.Context(), RetryPlan{}), "zero plan: check the error from Plan before waiting"},
	} {
		if !errors.Is(c.err, c.is) || c.err.Error() != "retryafter: "+c.want {
			t.Errorf("got  %v (is %v: %t)\nwant retryafter: %v", c.err, c.is, errors.Is(c.err, c.is), c.want)
		}
		if len(c.is.Error()) > 140 {
			t.Errorf("%q has %d bytes, more than 140", c.is, len(c.is.Error()))
		}
	}
}

// TestErrorsQuote quotes at most 64 bytes of a value, in printable characters.
func TestErrorsQuote(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{strings.Repeat("a", 64), `"` + strings.Repeat("a", 64) + `"`},
		{strings.Repeat("a", 65), `"` + strings.Repeat("a", 64) + `"... (65 bytes)`},
		{"\x00\xff\"\n\u2028", `"\x00\xff\"\n\u2028"`},
	} {
		if got := quote(c.value); got != c.want {
			t.Errorf("quote(%q) = %s, want %s", c.value, got, c.want)
		}
	}
}

// TestNothingAllocates covers every row that makes a plan, and WaitFor for a deadline
// that has passed.
func TestNothingAllocates(t *testing.T) {
	for _, c := range planCases {
		if c.err != nil || !c.opts.ResponseReceivedAt.IsZero() { // a time at t0 is not one of this process
			continue
		}
		if got := testing.AllocsPerRun(10, func() { Plan(c.header, c.opts) }); got != 0 {
			t.Errorf("%s: %v allocations", c.name, got)
		}
	}
	key := Options{Jitter: Jitter{Key: strings.Repeat("k", 120)}, Attempt: 3}
	times := Options{RequestSentAt: time.Now(), ResponseReceivedAt: time.Now()}
	for _, opts := range []Options{{}, key, times} {
		header := fields("Retry-After", d30, "Date", d0, "Age", "3")
		if got := testing.AllocsPerRun(10, func() { Plan(header, opts) }); got != 0 {
			t.Errorf("%+v: %v allocations", opts, got)
		}
	}
	p, err := Plan(fields("Retry-After", "0"), Options{Jitter: Jitter{Spread: 1, Rand: atFloor}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if got := testing.AllocsPerRun(10, func() { WaitFor(ctx, p) }); got != 0 {
		t.Errorf("a passed WaitFor: %v allocations", got)
	}
}

// durations are those that a sum or a comparison may go wrong over, and any.
var durations = rapid.OneOf(
	rapid.SampledFrom([]time.Duration{
		0, 1, -1, second, 250*time.Millisecond - 1, 250 * time.Millisecond, 30 * second, 120 * second,
		50*year - 1, 50 * year, 50*year + 1, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64,
	}),
	rapid.Map(rapid.Int64Range(0, int64(2*time.Minute)), func(d int64) time.Duration { return time.Duration(d) }),
	rapid.Map(rapid.Int64(), func(d int64) time.Duration { return time.Duration(d) }),
)

// dates are instants that HTTP-date can write, most of them near t0.
var dates = rapid.Map(rapid.OneOf(
	rapid.Int64Range(t0.Unix()-100, t0.Unix()+100),
	rapid.Int64Range(t0.Unix()-51*31557600, t0.Unix()+51*31557600),
	rapid.Int64Range(-62167219200, 253402300799),
), func(unix int64) time.Time { return time.Unix(unix, 0).UTC() })

// dateValues are dates in one of the three forms.
var dateValues = rapid.Custom(func(t *rapid.T) string {
	date := dates.Draw(t, "date")
	layouts := []string{http.TimeFormat, time.ANSIC}
	if year := date.Year(); 1900 <= year && year < 2100 {
		layouts = append(layouts, "Monday, 02-Jan-06 15:04:05 GMT")
	}
	return date.Format(rapid.SampledFrom(layouts).Draw(t, "layout"))
})

var digitValues = rapid.OneOf(
	rapid.Map(rapid.Uint64Range(0, 200), func(n uint64) string { return strconv.FormatUint(n, 10) }),
	rapid.Map(rapid.Uint64Range(1577879990, 1577880010), func(n uint64) string { return strconv.FormatUint(n, 10) }),
	rapid.StringMatching(`[0-9]{1,25}`),
)

// planInput is all that a plan is made of.
type planInput struct {
	wall   time.Time // of the client, at receipt
	header http.Header
	opts   Options
}

var planInputs = rapid.Custom(func(t *rapid.T) planInput {
	lines := func(name string, value *rapid.Generator[string]) []string {
		odd := rapid.OneOf(value, rapid.SampledFrom([]string{"", " ", "120, 60", "-1", "soon", d0 + ", " + d0}))
		return rapid.OneOf(
			rapid.SliceOfN(value, 1, 1), rapid.SliceOfN(value, 1, 1), rapid.SliceOfN(value, 1, 1), rapid.SliceOfN(odd, 0, 2),
		).Draw(t, name)
	}
	in := planInput{
		wall: t0.Add(durations.Draw(t, "skew")),
		header: http.Header{
			"Retry-After": lines("Retry-After", rapid.OneOf(digitValues, dateValues)),
			"Date":        lines("Date", dateValues),
			"Age":         lines("Age", digitValues),
		},
	}
	place := rapid.Float64Range(0, 1).Draw(t, "place")
	in.opts = Options{
		Attempt:       rapid.IntRange(0, math.MaxInt).Draw(t, "Attempt"),
		Jitter:        Jitter{Rand: func() float64 { return place }},
		OnMissingDate: MissingDate(rapid.IntRange(0, 1).Draw(t, "OnMissingDate")),
	}
	if rapid.Bool().Draw(t, "keyed") {
		in.opts.Jitter = Jitter{Key: rapid.StringN(1, -1, 200).Draw(t, "Key")}
	}
	// Each of these is left out as often as not, and half of the inputs have none out
	// of bounds, or few would make a plan.
	value := durations
	if rapid.Bool().Draw(t, "in bounds") {
		value = rapid.Map(durations, func(d time.Duration) time.Duration { return d.Abs() % (50*year + 1) })
	}
	optional := func(name string, set func(time.Duration)) {
		if rapid.Bool().Draw(t, "has "+name) {
			set(value.Draw(t, name))
		}
	}
	optional("Spread", func(d time.Duration) { in.opts.Jitter.Spread = d })
	optional("MinWait", func(d time.Duration) { in.opts.MinWait = d })
	optional("MaxWait", func(d time.Duration) { in.opts.MaxWait = d })
	optional("Age", func(d time.Duration) { in.opts.Age = &d })
	optional("round trip", func(d time.Duration) {
		in.opts.ResponseReceivedAt = in.wall.Add(-rapid.SampledFrom([]time.Duration{0, second, 50 * year}).Draw(t, "ago"))
		in.opts.RequestSentAt = in.opts.ResponseReceivedAt.Add(-d)
	})
	return in
})

// receipt is when the response was received, by the client's wall clock.
func (in planInput) receipt() time.Time {
	if in.opts.ResponseReceivedAt.IsZero() {
		return in.wall
	}
	return in.opts.ResponseReceivedAt
}

// plainFloor computes Instructed, Age and Floor a second time, in integers that
// do not wrap, for an input that makes a plan by its own Date or by none.
func plainFloor(in planInput) (instructed, age, floor *big.Int) {
	number := func(d time.Duration) *big.Int { return big.NewInt(int64(d)) }
	instruction, _ := plainParse(in.header["Retry-After"][0])
	instructed = number(instruction.Delay)
	if instruction.Source == HTTPDate {
		from, _ := plainParse(in.header["Date"][0])
		seconds := big.NewInt(instruction.Date.Unix() - from.Date.Unix())
		instructed = seconds.Mul(seconds, number(second))
	}
	age = new(big.Int)
	if lines := in.header["Age"]; len(lines) > 0 {
		first := strings.Trim(strings.Split(lines[0], ",")[0], " \t")
		if n, ok := new(big.Int).SetString(first, 10); ok && strings.Trim(first, "0123456789") == "" && n.Cmp(big.NewInt(1577880000)) <= 0 {
			age.Mul(n, number(second))
		}
	}
	if !in.opts.RequestSentAt.IsZero() {
		age.Add(age, number(in.opts.ResponseReceivedAt.Sub(in.opts.RequestSentAt)))
	}
	if in.opts.Age != nil {
		age = number(*in.opts.Age)
	}
	floor = new(big.Int).Sub(instructed, age)
	if floor.Sign() < 0 {
		floor.SetInt64(0)
	}
	return instructed, age, floor
}

// plainVerdict says which kind of outcome an input has to have, by the words of the
// reference: ErrInvalidOptions, ErrNoRetryAfter, errField for a FieldError, or nil
// for a plan, be it one that MaxWait refuses.
func plainVerdict(in planInput) error {
	o := in.opts
	outside := func(d time.Duration) bool { return d < 0 || d > 50*year }
	badTimes := o.RequestSentAt.IsZero() != o.ResponseReceivedAt.IsZero()
	if !o.RequestSentAt.IsZero() && !o.ResponseReceivedAt.IsZero() {
		ago := in.wall.Sub(o.ResponseReceivedAt)
		badTimes = outside(o.ResponseReceivedAt.Sub(o.RequestSentAt)) || outside(ago.Abs())
	}
	badAge := o.Age != nil && outside(*o.Age)
	if o.Attempt < 0 || badTimes || badAge || outside(o.MinWait) || o.MaxWait < 0 || outside(o.Jitter.Spread) || o.OnMissingDate > 1 {
		return ErrInvalidOptions
	}
	lines, dates := in.header["Retry-After"], in.header["Date"]
	if len(lines) == 0 {
		return ErrNoRetryAfter
	}
	instruction, faults := plainParse(lines[0])
	if len(lines) > 1 || faults != nil {
		return errField
	}
	if instruction.Source == DelaySeconds {
		return nil
	}
	if len(dates) == 0 { // by the client's clock, if that is trusted
		if o.OnMissingDate != TrustClientClock || instruction.Date.Sub(in.receipt()) > 50*year {
			return errField
		}
		return nil
	}
	date, faults := plainParse(dates[0])
	wait := instruction.Date.Unix() - date.Date.Unix()
	if len(dates) > 1 || faults != nil || date.Source != HTTPDate || wait < -1 || wait > 1577880000 {
		return errField
	}
	return nil
}

var errField = errors.New("a FieldError")

// checkPlan holds for every header and all options there are.
func checkPlan(fatalf func(format string, args ...any), in planInput) {
	p, err := planOn(in.wall, in.header, in.opts)
	checkVerdict(fatalf, in, p, err)
	if p == (RetryPlan{}) {
		return
	}
	checkSums(fatalf, in, p, err)
	if again, _ := planOn(in.wall, in.header, in.opts); again != p {
		fatalf("the same input makes %+v, and then %+v", p, again)
	}
	if !p.TrustedClientClock {
		checkFloor(fatalf, in, p)
		checkMoved(fatalf, in, p, err)
	}
	// A response a second older has no higher floor.
	if older := p.Age + second; older <= 50*year {
		opts := in.opts
		opts.Age = &older
		if other, _ := planOn(in.wall, in.header, opts); other.Floor > p.Floor {
			fatalf("a second older, and the floor is %v, after %v", other.Floor, p.Floor)
		}
	}
}

// checkVerdict has the error that there must be, and a whole plan or none with it.
func checkVerdict(fatalf func(format string, args ...any), in planInput, p RetryPlan, err error) {
	want := plainVerdict(in)
	planned := want == nil || want == ErrNoRetryAfter && in.opts.MinWait > 0
	badPlace := false
	if in.opts.Jitter.Rand != nil {
		place := in.opts.Jitter.Rand()
		badPlace = math.IsNaN(place) || place < 0 || place > 1
	}
	var fe *FieldError
	var ok bool
	switch {
	case planned && badPlace: // which comes out when the place is drawn
		ok = errors.Is(err, ErrInvalidOptions)
	case errors.Is(err, ErrExceedsMaxWait): // rightly, as checkSums has it
		ok = planned
	case want == errField:
		ok = errors.As(err, &fe)
	case planned:
		ok = err == nil
	default:
		ok = errors.Is(err, want)
	}
	if !ok {
		fatalf("%v, and not %v", err, want)
	}
	whole := err == nil || errors.Is(err, ErrExceedsMaxWait)
	if whole == (p == RetryPlan{}) || whole == p.Deadline.IsZero() {
		fatalf("%v with %+v", err, p)
	}
}

// checkSums has the wait made of the floor, or the caller's own, and a place in
// the window above, within MaxWait.
func checkSums(fatalf func(format string, args ...any), in planInput, p RetryPlan, err error) {
	base := max(p.Floor, in.opts.MinWait)
	if p.Floor < 0 || p.Jitter < 0 || p.Jitter > p.Spread || p.Wait != base+p.Jitter || p.Wait < base {
		fatalf("floor, jitter and wait do not add up: %+v", p)
	}
	receipt := time.Hour - in.wall.Sub(in.receipt())
	if p.Deadline.mono-receipt != p.Wait || p.Deadline.mono < receipt {
		fatalf("the deadline is not a wait after the receipt: %+v", p)
	}
	least := base + min(p.Spread, 250*time.Millisecond)
	fits := in.opts.MaxWait == 0 || least <= in.opts.MaxWait
	if fits == errors.Is(err, ErrExceedsMaxWait) || fits && in.opts.MaxWait > 0 && p.Wait > in.opts.MaxWait {
		fatalf("MaxWait %v: %+v, %v", in.opts.MaxWait, p, err)
	}
}

// checkFloor has the floor of arithmetic that does not wrap.
func checkFloor(fatalf func(format string, args ...any), in planInput, p RetryPlan) {
	if p.Source == 0 {
		if p.Floor != 0 || p.Instructed != 0 || p.Age != 0 || p.ClampedToZero {
			fatalf("a floor of no instruction: %+v", p)
		}
		return
	}
	instructed, age, floor := plainFloor(in)
	if instructed.Cmp(big.NewInt(int64(p.Instructed))) != 0 || age.Cmp(big.NewInt(int64(p.Age))) != 0 ||
		floor.Cmp(big.NewInt(int64(p.Floor))) != 0 || p.ClampedToZero != (instructed.Cmp(age) < 0) {
		fatalf("floor %v of %v less %v: %+v", floor, instructed, age, p)
	}
}

// checkMoved has a client whose clock is an hour ahead of this one's make the same
// plan, but for the skew, which is more by that hour.
func checkMoved(fatalf func(format string, args ...any), in planInput, p RetryPlan, err error) {
	opts := in.opts
	if !opts.RequestSentAt.IsZero() {
		opts.RequestSentAt = opts.RequestSentAt.Add(time.Hour)
		opts.ResponseReceivedAt = opts.ResponseReceivedAt.Add(time.Hour)
	}
	other, otherErr := planOn(in.wall.Add(time.Hour), in.header, opts)
	want := p
	if p.SkewKnown {
		want.Skew += time.Hour
	}
	if p.Skew > math.MaxInt64-time.Hour || p.Skew == math.MinInt64 { // it has saturated
		want.Skew = other.Skew
	}
	if other != want || fmt.Sprint(otherErr) != fmt.Sprint(err) {
		fatalf("an hour ahead the plan is %+v, %v, and not %+v, %v", other, otherErr, want, err)
	}
}

func TestPlanInvariants(t *testing.T) {
	planned, drawn := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		in := planInputs.Draw(t, "input")
		drawn++
		if _, err := planOn(in.wall, in.header, in.opts); err == nil {
			planned++
		}
		checkPlan(t.Fatalf, in)
	})
	t.Logf("%d of %d inputs made a plan", planned, drawn)
	if planned == 0 {
		t.Error("none did")
	}
}

func FuzzPlan(f *testing.F) {
	add := func(header http.Header, opts Options) {
		line := func(name string) string { return strings.Join(header[name], "\n") }
		age := time.Duration(-1)
		if opts.Age != nil {
			age = *opts.Age
		}
		var roundTrip, ago time.Duration
		if !opts.RequestSentAt.IsZero() {
			roundTrip, ago = opts.ResponseReceivedAt.Sub(opts.RequestSentAt), t0.Sub(opts.ResponseReceivedAt)
		}
		f.Add(line("Retry-After"), line("Date"), line("Age"), int64(0), opts.Attempt, opts.Jitter.Key, 0.5,
			int64(opts.Jitter.Spread), int64(age), int64(opts.MinWait), int64(opts.MaxWait), int64(roundTrip), int64(ago), uint8(opts.OnMissingDate))
	}
	for _, c := range planCases {
		add(c.header, c.opts)
	}
	f.Fuzz(func(t *testing.T, retryAfter, date, age string, skew int64, attempt int, key string, place float64,
		spread, ageOption, minWait, maxWait, roundTrip, ago int64, onMissingDate uint8) {
		in := planInput{wall: t0.Add(time.Duration(skew)), header: http.Header{}}
		for name, lines := range map[string]string{"Retry-After": retryAfter, "Date": date, "Age": age} {
			if lines != "" { // several lines are told apart by what no line can hold
				in.header[name] = strings.Split(lines, "\n")
			}
		}
		in.opts = Options{
			Attempt: attempt, Jitter: Jitter{Key: key, Spread: time.Duration(spread)},
			MinWait: time.Duration(minWait), MaxWait: time.Duration(maxWait), OnMissingDate: MissingDate(onMissingDate),
		}
		if key == "" {
			in.opts.Jitter.Rand = func() float64 { return place }
		}
		if ageOption != -1 {
			in.opts.Age = ptr(time.Duration(ageOption))
		}
		if roundTrip != 0 || ago != 0 {
			in.opts.ResponseReceivedAt = in.wall.Add(-time.Duration(ago))
			in.opts.RequestSentAt = in.opts.ResponseReceivedAt.Add(-time.Duration(roundTrip))
		}
		checkPlan(t.Fatalf, in)
	})
}

func BenchmarkPlan(b *testing.B) {
	// A header of the size that responses have.
	header := func(retryAfter string) http.Header {
		return http.Header{
			"Cache-Control": {"no-store"}, "Content-Length": {"33"}, "Content-Type": {"application/json"},
			"Date": {d0}, "Retry-After": {retryAfter}, "Server": {"example"},
			"Strict-Transport-Security": {"max-age=63072000"}, "X-Request-Id": {"00f067aa0ba902b7"},
		}
	}
	plan := func(header http.Header, opts Options) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := Plan(header, opts); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	now := func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	}
	fourLines := func(header http.Header) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				value := header.Get("Retry-After")
				if seconds, err := strconv.Atoi(value); err == nil {
					b.Fatal(seconds)
				} else if date, err := http.ParseTime(value); err != nil || time.Until(date) == 0 {
					b.Fatal(date, err)
				}
			}
		}
	}
	versus(b, "date", "four-lines", fourLines(header(d30)), plan(header(d30), Options{}))
	versus(b, "key", "four-lines", fourLines(header(d30)), plan(header(d30), Options{Attempt: 3, Jitter: Jitter{Key: "client-7"}}))
	versus(b, "seconds", "time.Now", now, plan(header("120"), Options{}))
}

func BenchmarkWaitFor(b *testing.B) {
	ctx := b.Context()
	passed, err := Plan(fields("Retry-After", "0"), Options{Jitter: Jitter{Spread: 1}})
	if err != nil {
		b.Fatal(err)
	}
	versus(b, "passed", "time.Now", func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	}, func(b *testing.B) {
		for b.Loop() {
			if err := WaitFor(ctx, passed); err != nil {
				b.Fatal(err)
			}
		}
	})
	versus(b, "waits", "time.NewTimer", func(b *testing.B) {
		for b.Loop() {
			<-time.NewTimer(10 * time.Microsecond).C
		}
	}, func(b *testing.B) {
		plan := passed
		for b.Loop() {
			plan.Deadline.mono = systemClock().now().mono + 10*time.Microsecond
			if err := WaitFor(ctx, plan); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWaiters has 100,000 goroutines in WaitFor, on real timers, beside as
// many in time.Sleep. Nobody is early; what a waiter takes of memory and how late
// the median one is are reported. The memory is that of the first run in a process:
// afterwards goroutines begin with as much stack as the earlier ones came to need.
func BenchmarkWaiters(b *testing.B) {
	const waiters = 100_000
	const wait = 3 * time.Second // time enough to have all of them waiting
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ways := []struct {
		name string
		wait func(start time.Time)
	}{
		{"Sleep", func(time.Time) { time.Sleep(wait) }},
		{"WaitFor", func(start time.Time) {
			p := RetryPlan{Wait: wait, Deadline: Deadline{mono: start.Sub(processStart.start) + wait, set: true}}
			if err := WaitFor(ctx, p); err != nil {
				b.Error(err)
			}
		}},
	}
	inUse := func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse + m.StackInuse)
	}
	for b.Loop() {
		var all sync.WaitGroup
		memory, lateness := map[string]float64{}, map[string][]time.Duration{}
		for _, way := range ways {
			late := make([]time.Duration, waiters)
			lateness[way.name] = late
			runtime.GC()
			before := inUse()
			var started sync.WaitGroup
			started.Add(waiters)
			for i := range waiters {
				all.Go(func() {
					start := time.Now()
					started.Done()
					way.wait(start)
					late[i] = time.Since(start) - wait
				})
			}
			started.Wait()
			memory[way.name] = (inUse() - before) / waiters
		}
		all.Wait()
		for name, late := range lateness {
			slices.Sort(late)
			if late[0] < 0 {
				b.Errorf("%s: %v early", name, -late[0])
			}
			b.ReportMetric(memory[name], name+"-B/waiter")
			b.ReportMetric(float64(late[waiters/2].Microseconds()), name+"-us-late")
		}
		b.ReportMetric(memory["WaitFor"]/memory["Sleep"], "memory-ratio")
	}
}
