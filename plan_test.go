package retryafter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

const (
	d0  = "Tue, 04 Aug 2026 12:00:00 GMT"
	d30 = "Tue, 04 Aug 2026 12:00:30 GMT"

	aYear = 8766 * time.Hour // 365.25 days
)

// t0 is the instant of d0.
var t0 = time.Date(2026, 8, 4, 12, 0, 0, 0, time.UTC)

func noJitter() float64   { return 0 } // as Jitter.Rand
func fullJitter() float64 { return 1 }

// fields makes a header of names and values, with the names as they are.
func fields(pairs ...string) http.Header {
	header := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = append(header[pairs[i]], pairs[i+1])
	}
	return header
}

// diff returns the fields in which two plans differ. The plan itself is a Stringer, and
// would hide some of them.
func diff(got, want RetryPlan) string {
	var lines strings.Builder
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if !g.Field(i).Equal(w.Field(i)) {
			fmt.Fprintf(&lines, "%s is %+v, want %+v\n", g.Type().Field(i).Name, g.Field(i), w.Field(i))
		}
	}
	return lines.String()
}

// planOn is Plan on a client whose wall clock stands at the given time, and whose
// process is an hour old.
func planOn(wall time.Time, header http.Header, opts Options) (RetryPlan, error) {
	return planAt(instant{wall: wall, mono: time.Hour}, header, &opts)
}

// completePlan is planOn, and returns the plan of a LimitError too.
func completePlan(wall time.Time, header http.Header, opts Options) (RetryPlan, error) {
	p, err := planOn(wall, header, opts)
	var limit *LimitError
	if errors.As(err, &limit) {
		p = limit.Plan
	}
	return p, err
}

func ptr[T any](v T) *T { return &v }

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

// These three plans are those of several rows.
var (
	seconds30 = RetryPlan{
		Wait: 30 * time.Second, Floor: 30 * time.Second, Spread: 7500 * time.Millisecond,
		Source: DelaySeconds, Instructed: 30 * time.Second,
	}
	seconds30AndDate = RetryPlan{
		Wait: 30 * time.Second, Floor: 30 * time.Second, Spread: 7500 * time.Millisecond,
		Source: DelaySeconds, Instructed: 30 * time.Second, SkewKnown: true,
	}
	date30 = RetryPlan{
		Wait: 30 * time.Second, Floor: 30 * time.Second, Spread: 7500 * time.Millisecond,
		Source: HTTPDate, Instructed: 30 * time.Second, SkewKnown: true,
	}
)

var planCases = []planCase{
	{
		name:   "delay-seconds",
		header: fields("Retry-After", "30", "Date", d0),
		want:   seconds30AndDate,
	}, {
		name:   "HTTP-date",
		header: fields("Retry-After", d30, "Date", d0),
		want:   date30,
	}, {
		name:   "both dates in obsolete forms",
		header: fields("Retry-After", "Tuesday, 04-Aug-26 12:00:30 GMT", "Date", "Tue Aug  4 12:00:00 2026"),
		want:   date30,
	}, {
		name:   "the dates of a real response of 2019",
		header: fields("Retry-After", "Wed, 18 Sep 2019 05:34:00 GMT", "Date", "Wed, 18 Sep 2019 05:33:23 GMT"),
		want: RetryPlan{
			Wait: 37 * time.Second, Floor: 37 * time.Second,
			Spread: 9250 * time.Millisecond, Source: HTTPDate, Instructed: 37 * time.Second,
			Skew: 217059997 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "delay-seconds of zero",
		header: fields("Retry-After", "0", "Date", d0),
		want:   RetryPlan{Spread: 250 * time.Millisecond, Source: DelaySeconds, SkewKnown: true},
	}, {
		name:   "an HTTP-date equal to Date is zero, not clamped",
		header: fields("Retry-After", d0, "Date", d0),
		want:   RetryPlan{Spread: 250 * time.Millisecond, Source: HTTPDate, SkewKnown: true},
	}, {
		name:   "an HTTP-date one second before Date is clamped to zero",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0),
		want: RetryPlan{
			Spread: 250 * time.Millisecond, Source: HTTPDate, Instructed: -time.Second,
			SkewKnown: true, ClampedToZero: true,
		},
	}, {
		name:   "an HTTP-date two seconds before Date",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:58 GMT", "Date", d0),
		err:    ErrBeforeDate,
	}, {
		name:   "an HTTP-date an hour before Date",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:00:00 GMT", "Date", d0),
		err:    ErrBeforeDate,
	}, {
		name:   "an HTTP-date 8,000 years before Date, more than a Duration holds",
		header: fields("Retry-After", d0, "Date", "Fri, 31 Dec 9999 23:59:59 GMT"),
		err:    ErrBeforeDate,
	}, {
		name:   "an HTTP-date 50 years after Date",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:00 GMT", "Date", d0),
		want: RetryPlan{
			Wait: 50 * aYear, Floor: 50 * aYear, Spread: 30 * time.Second, Source: HTTPDate,
			Instructed: 50 * aYear, SkewKnown: true,
		},
	}, {
		name:   "an HTTP-date 50 years and a second after Date",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:01 GMT", "Date", d0),
		err:    ErrTooFarAhead,
	}, {
		name:   "an HTTP-date at the end of the calendar",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", d0),
		err:    ErrTooFarAhead,
	}, {
		name:   "the whole calendar, more than a Duration holds",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", "Sat, 01 Jan 0000 00:00:00 GMT"),
		err:    ErrTooFarAhead,
	}, {
		name:   "a number of seconds that would overflow to a negative Duration",
		header: fields("Retry-After", "9223372037"),
		err:    ErrTooFarAhead,
	}, {
		name:   "a number of seconds that would overflow to 290 ms",
		header: fields("Retry-After", "18446744074"),
		err:    ErrTooFarAhead,
	}, {
		name:   "a Unix time as delay-seconds",
		header: fields("Retry-After", "1746136938"),
		err:    ErrTooFarAhead,
	},

	// Age.
	{
		name:   "Age is subtracted from an HTTP-date",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		want: RetryPlan{
			Wait: 10 * time.Second, Floor: 10 * time.Second,
			Spread: 2500 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			Age: 20 * time.Second, Skew: -20 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "Age is subtracted from delay-seconds",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		want: RetryPlan{
			Wait: 10 * time.Second, Floor: 10 * time.Second,
			Spread: 2500 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 20 * time.Second, Skew: -20 * time.Second,
			SkewKnown: true,
		},
	}, {
		name:   "Age equal to the delay gives zero, not clamped",
		header: fields("Retry-After", "30", "Age", "30"),
		want: RetryPlan{
			Spread: 250 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 30 * time.Second,
		},
	}, {
		name:   "Age a second more than the delay is clamped to zero",
		header: fields("Retry-After", "30", "Age", "31"),
		want: RetryPlan{
			Spread: 250 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 31 * time.Second, ClampedToZero: true,
		},
	}, {
		name:   "Age of a long-cached 429 is clamped to zero",
		header: fields("Retry-After", "30", "Age", "689"),
		want: RetryPlan{
			Spread: 250 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 689 * time.Second, ClampedToZero: true,
		},
	}, {
		name:   "Age with several members: the first counts",
		header: fields("Retry-After", "30", "Age", "20, 7200"),
		want: RetryPlan{
			Wait: 10 * time.Second, Floor: 10 * time.Second,
			Spread: 2500 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 20 * time.Second,
		},
	}, {
		name:   "Age with several members: the first is zero",
		header: fields("Retry-After", "30", "Age", "0, 7200"),
		want:   seconds30,
	}, {
		name:   "Age in two lines: the first counts",
		header: fields("Retry-After", "30", "Age", "\t20 ", "Age", "7200"),
		want: RetryPlan{
			Wait: 10 * time.Second, Floor: 10 * time.Second,
			Spread: 2500 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 20 * time.Second,
		},
	}, {
		name:   "Age of letters is ignored",
		header: fields("Retry-After", "30", "Age", "abc"),
		want:   seconds30,
	}, {
		name:   "Age below zero is ignored",
		header: fields("Retry-After", "30", "Age", "-7200"),
		want:   seconds30,
	}, {
		name:   "Age with a fraction is ignored",
		header: fields("Retry-After", "30", "Age", "7200.0"),
		want:   seconds30,
	}, {
		name:   "Age with a sign is ignored",
		header: fields("Retry-After", "30", "Age", "+20"),
		want:   seconds30,
	}, {
		name:   "Age of a Unix time is ignored",
		header: fields("Retry-After", "30", "Age", "1664612639"),
		want:   seconds30,
	}, {
		name:   "Age of 20 digits is ignored",
		header: fields("Retry-After", "30", "Age", strings.Repeat("9", 20)),
		want:   seconds30,
	}, {
		name:   "Age of a blank is ignored",
		header: fields("Retry-After", "30", "Age", " "),
		want:   seconds30,
	}, {
		name:   "Age with an empty first member is ignored",
		header: fields("Retry-After", "30", "Age", ", 20"),
		want:   seconds30,
	}, {
		name:   "Age of 50 years",
		header: fields("Retry-After", "30", "Age", "1577880000"),
		want: RetryPlan{
			Spread: 250 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 50 * aYear, ClampedToZero: true,
		},
	}, {
		name:   "Age of 50 years and a second is ignored",
		header: fields("Retry-After", "30", "Age", "1577880001"),
		want:   seconds30,
	}, {
		name:   "Options.Age of zero; Skew still uses the field",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		opts:   Options{Age: new(time.Duration)},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second,
			Spread: 7500 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Skew: -20 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "Options.Age of zero with the two times; Skew still uses both",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		opts:   Options{Age: new(time.Duration), RequestSentAt: t0.Add(-200 * time.Millisecond), ResponseReceivedAt: t0},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second,
			Spread: 7500 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Skew: -20200 * time.Millisecond, SkewKnown: true,
		},
	}, {
		name:   "Options.Age replaces the Age field",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{Age: ptr(5 * time.Second)},
		want: RetryPlan{
			Wait: 25 * time.Second, Floor: 25 * time.Second,
			Spread: 6250 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			Age: 5 * time.Second, Skew: -20 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "the round trip counts as age",
		header: fields("Retry-After", "30", "Date", d0),
		opts:   Options{RequestSentAt: t0.Add(-200 * time.Millisecond), ResponseReceivedAt: t0},
		want: RetryPlan{
			Wait: 29800 * time.Millisecond, Floor: 29800 * time.Millisecond,
			Spread: 7450 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Age: 200 * time.Millisecond,
			Skew: -200 * time.Millisecond, SkewKnown: true,
		},
	}, {
		name:   "the round trip is added to the Age field",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{RequestSentAt: t0.Add(-200 * time.Millisecond), ResponseReceivedAt: t0},
		want: RetryPlan{
			Wait: 9800 * time.Millisecond, Floor: 9800 * time.Millisecond,
			Spread: 2450 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			Age: 20200 * time.Millisecond, Skew: -20200 * time.Millisecond, SkewKnown: true,
		},
	}, {
		name:   "Skew and Deadline count from receipt",
		header: fields("Retry-After", "30", "Date", d0),
		opts:   Options{RequestSentAt: t0.Add(-5 * time.Second), ResponseReceivedAt: t0.Add(-5 * time.Second)},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second,
			Spread: 7500 * time.Millisecond, Source: DelaySeconds,
			Instructed: 30 * time.Second, Skew: -5 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "a round trip of zero",
		header: fields("Retry-After", "30", "Date", d0),
		opts:   Options{RequestSentAt: t0, ResponseReceivedAt: t0},
		want:   seconds30AndDate,
	},

	// Date.
	{name: "an HTTP-date without Date", header: fields("Retry-After", d30), err: ErrMissingDate},
	{
		name:   "a Date without lines is a missing Date",
		header: http.Header{"Retry-After": {d30}, "Date": {}},
		err:    ErrMissingDate,
	}, {
		name:   "TrustClientClock without Date",
		header: fields("Retry-After", d30),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second,
			Spread: 7500 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock subtracts no age",
		header: fields("Retry-After", d30, "Age", "20"),
		opts:   Options{OnMissingDate: TrustClientClock, Age: ptr(10 * time.Second)},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second,
			Spread: 7500 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock counts from receipt, to the nanosecond",
		header: fields("Retry-After", d30),
		opts: Options{OnMissingDate: TrustClientClock,
			RequestSentAt: t0.Add(-time.Second), ResponseReceivedAt: t0.Add(-1)},
		want: RetryPlan{
			Wait: 30*time.Second + 1, Floor: 30*time.Second + 1,
			Spread: 7500 * time.Millisecond, Source: HTTPDate,
			Instructed: 30*time.Second + 1, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock with a date that has passed",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{
			Spread: 250 * time.Millisecond, Source: HTTPDate, Instructed: -time.Hour,
			ClampedToZero: true, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock with a date 2,000 years ago, more than a Duration holds",
		header: fields("Retry-After", "Sat, 01 Jan 0000 00:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{
			Spread: 250 * time.Millisecond, Source: HTTPDate, Instructed: math.MinInt64,
			ClampedToZero: true, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock with a date more than 50 years ahead",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		err:    ErrTooFarAhead,
	}, {
		name:   "TrustClientClock changes nothing if there is a Date",
		header: fields("Retry-After", d30, "Date", d0),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   date30,
	}, {
		name:   "TrustClientClock changes nothing for delay-seconds",
		header: fields("Retry-After", "30"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   seconds30,
	}, {
		name:   "TrustClientClock does not accept a malformed Date",
		header: fields("Retry-After", d30, "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		err:    ErrDateSyntax,
	}, {
		name:   "a Date with a day of one digit, as a real service sends",
		header: fields("Retry-After", d30, "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		err:    ErrDateSyntax,
	}, {
		name:   "a malformed Date beside delay-seconds is ignored",
		header: fields("Retry-After", "30", "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		want:   seconds30,
	}, {
		name:   "two lines of Date",
		header: fields("Retry-After", d30, "Date", d0, "Date", d0),
		err:    ErrMultipleValues,
	}, {
		name:   "two dates in one line of Date",
		header: fields("Retry-After", d30, "Date", d0+", "+d0),
		err:    ErrMultipleValues,
	},
	{name: "a blank Date", header: fields("Retry-After", d30, "Date", " "), err: ErrEmpty},
	{
		name:   "a Date of seconds",
		header: fields("Retry-After", d30, "Date", "120"),
		err:    ErrDateSyntax,
	}, {
		name:   "a Date of another zone",
		header: fields("Retry-After", d30, "Date", "Tue, 04 Aug 2026 12:00:00 UTC"),
		err:    ErrNonGMTZone,
	}, {
		name:   "two lines of Date beside delay-seconds are ignored",
		header: fields("Retry-After", "30", "Date", d0, "Date", d0),
		want:   seconds30,
	}, {
		name:   "two dates in one line of Date beside delay-seconds are ignored",
		header: fields("Retry-After", "30", "Date", d0+", "+d0),
		want:   seconds30,
	}, {
		name:   "a blank Date beside delay-seconds is ignored",
		header: fields("Retry-After", "30", "Date", " "),
		want:   seconds30,
	}, {
		name:   "a Date of seconds beside delay-seconds is ignored",
		header: fields("Retry-After", "30", "Date", "120"),
		want:   seconds30,
	},

	// Field lines and field names.
	{
		name:   "two lines of Retry-After with one value",
		header: fields("Retry-After", "7", "Retry-After", "7"),
		err:    ErrMultipleValues,
	}, {
		name:   "two lines of Retry-After with different values",
		header: fields("Retry-After", "1", "Retry-After", "120"),
		err:    ErrMultipleValues,
	}, {
		name:   "two lines of Retry-After that would be a date if joined",
		header: fields("Retry-After", "Tue", "Retry-After", "04 Aug 2026 12:00:30 GMT", "Date", d0),
		err:    ErrMultipleValues,
	}, {
		name:   "two lines of Date that would be a date if joined",
		header: fields("Retry-After", d30, "Date", "Tue", "Date", "04 Aug 2026 12:00:00 GMT"),
		err:    ErrMultipleValues,
	}, {
		name:   "an empty and a valid line of Retry-After",
		header: fields("Retry-After", "", "Retry-After", "120"),
		err:    ErrMultipleValues,
	}, {
		name:   "names in lower case",
		header: fields("retry-after", d30, "date", d0, "age", "20"),
		want: RetryPlan{
			Wait: 10 * time.Second, Floor: 10 * time.Second,
			Spread: 2500 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			Age: 20 * time.Second, Skew: -20 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "names in mixed case",
		header: fields("RETRY-after", d30, "dATE", d0, "AGE", "20"),
		want: RetryPlan{
			Wait: 10 * time.Second, Floor: 10 * time.Second,
			Spread: 2500 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			Age: 20 * time.Second, Skew: -20 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "a canonical Date beside a Retry-After in lower case",
		header: fields("retry-after", d30, "Date", d0),
		want:   date30,
	}, {
		name:   "if Retry-After and Date are canonical, other spellings are ignored",
		header: fields("Retry-After", "30", "Date", d0, "retry-after", "60", "date", d30, "age", "20"),
		want:   seconds30AndDate,
	}, {
		name:   "a Date in lower case beside a canonical Retry-After",
		header: fields("Retry-After", d30, "date", d0, "age", "20"),
		want: RetryPlan{
			Wait: 10 * time.Second, Floor: 10 * time.Second,
			Spread: 2500 * time.Millisecond, Source: HTTPDate, Instructed: 30 * time.Second,
			Age: 20 * time.Second, Skew: -20 * time.Second, SkewKnown: true,
		},
	}, {
		name:   "a second spelling of Retry-After, without a canonical Date",
		header: fields("Retry-After", "30", "retry-after", "60"),
		err:    ErrMultipleValues,
	}, {
		name:   "two spellings of Retry-After",
		header: fields("retry-after", "30", "RETRY-AFTER", "30"),
		err:    ErrMultipleValues,
	}, {
		name:   "two spellings of Date",
		header: fields("retry-after", d30, "date", d0, "DATE", d0),
		err:    ErrMultipleValues,
	},
	{name: "no header", err: ErrNoRetryAfter},
	{name: "no Retry-After", header: fields("Date", d0, "Age", "20"), err: ErrNoRetryAfter},
	{
		name:   "a Retry-After without lines",
		header: http.Header{"Retry-After": {}},
		err:    ErrNoRetryAfter,
	}, {
		name:   "a Retry-After in lower case without lines",
		header: http.Header{"retry-after": nil},
		err:    ErrNoRetryAfter,
	}, {
		name:   "spellings without lines are ignored",
		header: http.Header{"retry-after": {"30"}, "RETRY-AFTER": {}, "Retry-After": nil},
		want:   seconds30,
	}, {
		name:   "names that resemble Retry-After",
		header: fields("Retry_After", "30", "X-Retry-After", "30", "Retry-Afte\u0155", "30"),
		err:    ErrNoRetryAfter,
	},
	{name: "an empty Retry-After", header: fields("Retry-After", ""), err: ErrEmpty},
	{name: "a Retry-After with a unit", header: fields("Retry-After", "30s"), err: ErrDelaySyntax},

	// MinWait.
	{
		name:   "MinWait above a floor of zero",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * time.Second},
		want:   RetryPlan{Wait: 8 * time.Second, Spread: 2 * time.Second, Source: DelaySeconds},
	}, {
		name:   "MinWait above a floor of zero, full jitter",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * time.Second, Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 10 * time.Second, Jitter: 2 * time.Second, Spread: 2 * time.Second,
			Source: DelaySeconds,
		},
	}, {
		name:   "MinWait below the floor adds nothing",
		header: fields("Retry-After", "30"),
		opts:   Options{MinWait: 8 * time.Second},
		want:   seconds30,
	}, {
		name:   "no Retry-After: MinWait and jitter",
		header: fields("Date", d0, "Age", "20"),
		opts:   Options{MinWait: 8 * time.Second, Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 10 * time.Second, Jitter: 2 * time.Second, Spread: 2 * time.Second,
			Skew: -20 * time.Second, SkewKnown: true,
		},
	}, {
		name: "no Retry-After: the shortest MinWait",
		opts: Options{MinWait: 1},
		want: RetryPlan{Wait: 1, Spread: 250 * time.Millisecond},
	}, {
		name: "no Retry-After: MaxWait cuts the window above MinWait",
		opts: Options{MinWait: 8 * time.Second, MaxWait: 9 * time.Second, Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{Wait: 9 * time.Second, Jitter: time.Second, Spread: time.Second},
	}, {
		name: "no Retry-After: MinWait does not fit in MaxWait",
		opts: Options{MinWait: 8 * time.Second, MaxWait: 8 * time.Second},
		want: RetryPlan{Wait: 8 * time.Second, Spread: 2 * time.Second},
		err:  ErrExceedsMaxWait,
	},

	// The window.
	{
		name:   "full jitter is a quarter of the floor",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 37500 * time.Millisecond, Floor: 30 * time.Second,
			Jitter: 7500 * time.Millisecond, Spread: 7500 * time.Millisecond,
			Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "a draw of one half",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Rand: func() float64 { return 0.5 }}},
		want: RetryPlan{
			Wait: 33750 * time.Millisecond, Floor: 30 * time.Second,
			Jitter: 3750 * time.Millisecond, Spread: 7500 * time.Millisecond,
			Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "the default window is at least 250 ms",
		header: fields("Retry-After", "1"),
		opts:   Options{Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 1250 * time.Millisecond, Floor: time.Second,
			Jitter: 250 * time.Millisecond, Spread: 250 * time.Millisecond,
			Source: DelaySeconds, Instructed: time.Second,
		},
	}, {
		name:   "the default window of 2 s is a quarter",
		header: fields("Retry-After", "2"),
		opts:   Options{Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 2500 * time.Millisecond, Floor: 2 * time.Second,
			Jitter: 500 * time.Millisecond, Spread: 500 * time.Millisecond,
			Source: DelaySeconds, Instructed: 2 * time.Second,
		},
	}, {
		name:   "the default window of 119 s is a quarter",
		header: fields("Retry-After", "119"),
		opts:   Options{Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 148750 * time.Millisecond, Floor: 119 * time.Second,
			Jitter: 29750 * time.Millisecond, Spread: 29750 * time.Millisecond,
			Source: DelaySeconds, Instructed: 119 * time.Second,
		},
	}, {
		name:   "the default window is at most 30 s",
		header: fields("Retry-After", "121"),
		opts:   Options{Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 151 * time.Second, Floor: 121 * time.Second, Jitter: 30 * time.Second,
			Spread: 30 * time.Second, Source: DelaySeconds, Instructed: 121 * time.Second,
		},
	}, {
		name:   "a Spread wider than the default",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Spread: time.Hour, Rand: fullJitter}},
		want: RetryPlan{
			Wait: 3630 * time.Second, Floor: 30 * time.Second, Jitter: time.Hour,
			Spread: time.Hour, Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "a Spread of a nanosecond",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Spread: 1, Rand: fullJitter}},
		want: RetryPlan{
			Wait: 30*time.Second + 1, Floor: 30 * time.Second, Jitter: 1, Spread: 1,
			Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "the widest Spread, which a float64 rounds up",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Spread: 50*aYear - 1, Rand: fullJitter}},
		want: RetryPlan{
			Wait: 1577880029999999999, Floor: 30 * time.Second, Jitter: 1577879999999999999,
			Spread: 1577879999999999999, Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "the longest of all durations together",
		header: fields("Retry-After", "1577880000"),
		opts:   Options{MinWait: 50 * aYear, MaxWait: math.MaxInt64, Jitter: Jitter{Spread: 50 * aYear, Rand: fullJitter}},
		want: RetryPlan{
			Wait: 100 * aYear, Floor: 50 * aYear, Jitter: 50 * aYear, Spread: 50 * aYear,
			Source: DelaySeconds, Instructed: 50 * aYear,
		},
	},

	// MaxWait.
	{
		name:   "MaxWait of 10 s refuses an hour",
		header: fields("Retry-After", "3600"),
		opts:   Options{MaxWait: 10 * time.Second},
		want: RetryPlan{
			Wait: time.Hour, Floor: time.Hour, Spread: 30 * time.Second,
			Source: DelaySeconds, Instructed: time.Hour,
		},
		err: ErrExceedsMaxWait,
	}, {
		name:   "MaxWait equal to the floor",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30 * time.Second},
		want:   seconds30,
		err:    ErrExceedsMaxWait,
	}, {
		name:   "MaxWait a millisecond short of the narrowest window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30249 * time.Millisecond},
		want:   seconds30,
		err:    ErrExceedsMaxWait,
	}, {
		name:   "MaxWait a nanosecond short of the narrowest window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30250*time.Millisecond - 1},
		want:   seconds30,
		err:    ErrExceedsMaxWait,
	}, {
		name:   "MaxWait leaves the narrowest window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30250 * time.Millisecond},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second, Spread: 250 * time.Millisecond,
			Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "MaxWait cuts the window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 35 * time.Second},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second, Spread: 5 * time.Second,
			Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "MaxWait leaves the whole window",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 40 * time.Second},
		want:   seconds30,
	}, {
		name:   "MaxWait leaves a Spread of a nanosecond",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30*time.Second + 1, Jitter: Jitter{Spread: 1}},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second, Spread: 1,
			Source: DelaySeconds, Instructed: 30 * time.Second,
		},
	}, {
		name:   "MaxWait a nanosecond short of a Spread of a nanosecond",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30 * time.Second, Jitter: Jitter{Spread: 1}},
		want: RetryPlan{
			Wait: 30 * time.Second, Floor: 30 * time.Second, Spread: 1,
			Source: DelaySeconds, Instructed: 30 * time.Second,
		},
		err: ErrExceedsMaxWait,
	}, {
		name:   "MinWait above MaxWait",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * time.Second, MaxWait: 5 * time.Second},
		want:   RetryPlan{Wait: 8 * time.Second, Spread: 2 * time.Second, Source: DelaySeconds},
		err:    ErrExceedsMaxWait,
	}, {
		name:   "MaxWait of a nanosecond refuses a floor of zero",
		header: fields("Retry-After", "0"),
		opts:   Options{MaxWait: 1},
		want:   RetryPlan{Spread: 250 * time.Millisecond, Source: DelaySeconds},
		err:    ErrExceedsMaxWait,
	},
}

// TestPlan compares whole plans. Beside an error the plan is zero; a LimitError has the
// plan of the row.
func TestPlan(t *testing.T) {
	for _, c := range planCases {
		t.Run(c.name, func(t *testing.T) {
			if c.opts.Jitter.Rand == nil {
				c.opts.Jitter.Rand = noJitter
			}
			got, err := planOn(t0, c.header, c.opts)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil && got != (RetryPlan{}) {
				t.Errorf("%#v beside the error %v", got, err)
			}
			var limit *LimitError
			if errors.As(err, &limit) {
				got = limit.Plan
				if limit.Limit != c.opts.MaxWait {
					t.Errorf("Limit is %v, want %v", limit.Limit, c.opts.MaxWait)
				}
			}
			want := c.want
			if want != (RetryPlan{}) {
				want.Deadline = Deadline{mono: time.Hour + want.Wait, set: true}
				if !c.opts.ResponseReceivedAt.IsZero() {
					want.Deadline.mono -= t0.Sub(c.opts.ResponseReceivedAt)
				}
			}
			if got != want {
				t.Error(diff(got, want))
			}
		})
	}
}

// TestPlanFieldErrors compares whole FieldErrors. The order of a map is random; that of
// the lines in Value is not.
func TestPlanFieldErrors(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   FieldError
	}{
		{fields("Retry-After", " 30s "), FieldError{Field: "Retry-After", Value: " 30s ", Err: ErrDelaySyntax}},
		{fields("Retry-After", "7", "Retry-After", " 7"), FieldError{Field: "Retry-After", Value: "7,  7", Err: ErrMultipleValues}},
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

// TestManySpellings plans from a map that was built by hand, with 100,000 lines under
// 1,000 spellings of each name. The lowest Age counts.
func TestManySpellings(t *testing.T) {
	header := http.Header{}
	for i := range 1000 {
		spelling := func(name string) string {
			letters := []byte(strings.ToLower(name))
			for bit := range letters {
				if i>>bit&1 == 1 && letters[bit] != '-' {
					letters[bit] -= 'a' - 'A'
				}
			}
			return string(letters)
		}
		header[spelling("abcdefghij")] = nil
		header[spelling("retry-after")] = slices.Repeat([]string{strconv.Itoa(i)}, 100)
		header[spelling("age")] = append([]string{strconv.Itoa(100 + i), "x"}, header[spelling("age")]...)
	}
	var fe *FieldError
	if _, err := Plan(header, Options{}); !errors.As(err, &fe) || fe.Err != ErrMultipleValues {
		t.Fatalf("error %v, want ErrMultipleValues", err)
	}
	if lines := strings.Split(fe.Value, ", "); !slices.IsSorted(lines) || len(lines) < 50_000 {
		t.Errorf("%d lines in Value, sorted: %t", len(lines), slices.IsSorted(lines))
	}
}

// TestSpellingsOfAge counts the least of the first valid members. It gives each slice
// spare capacity, because an append in place would write there.
func TestSpellingsOfAge(t *testing.T) {
	for range 20 { // the order of a map is random
		retryAfter, spare := []string{"30", "spare"}, []string{"60", "spare"}
		header := http.Header{
			"retry-after": retryAfter[:1], "RETRY-AFTER": {},
			"age": {"20", "1"}, "AGE": {"10, 5"}, "aGE": {"x"}, "AgE": {},
		}
		if p, err := Plan(header, Options{}); err != nil || p.Age != 10*time.Second {
			t.Fatalf("Plan(%v) = %#v, %v, want an Age of 10s", header, p, err)
		}
		header["Retry-after"] = spare[:1]
		if _, err := Plan(header, Options{}); !errors.Is(err, ErrMultipleValues) {
			t.Fatalf("Plan(%v): error %v, want ErrMultipleValues", header, err)
		}
		if retryAfter[1] != "spare" || spare[1] != "spare" {
			t.Fatalf("Plan wrote to the slices of the header: %q, %q", retryAfter, spare)
		}
	}
}

// TestInvalidOptions tries both sides of each bound, with headers of several kinds.
func TestInvalidOptions(t *testing.T) {
	now := time.Now()
	times := func(sent, received time.Time) Options {
		return Options{RequestSentAt: sent, ResponseReceivedAt: received}
	}
	random := func(v float64) Options { return Options{Jitter: Jitter{Rand: func() float64 { return v }}} }
	for _, c := range []struct {
		want string // part of the message; empty if the options are valid
		opts Options
	}{
		{"", Options{}},
		{"Attempt", Options{Attempt: -1}},
		{"", Options{Attempt: math.MaxInt}},
		{"Age", Options{Age: ptr(time.Duration(-1))}},
		{"", Options{Age: ptr(50 * aYear)}},
		{"Age", Options{Age: ptr(50*aYear + 1)}},
		{"Age", Options{Age: ptr(time.Duration(math.MaxInt64))}},
		{"MinWait", Options{MinWait: -1}},
		{"", Options{MinWait: 50 * aYear}},
		{"MinWait", Options{MinWait: 50*aYear + 1}},
		{"MinWait", Options{MinWait: math.MaxInt64}},
		{"MaxWait", Options{MaxWait: -1}},
		{"", Options{MaxWait: math.MaxInt64}},
		{"Spread", Options{Jitter: Jitter{Spread: -1}}},
		{"", Options{Jitter: Jitter{Spread: 50 * aYear}}},
		{"Spread", Options{Jitter: Jitter{Spread: 50*aYear + 1}}},
		{"Spread", Options{Jitter: Jitter{Spread: math.MaxInt64}}},
		{"OnMissingDate", Options{OnMissingDate: TrustClientClock + 1}},
		{"Key and Rand", Options{Jitter: Jitter{Key: "k", Rand: noJitter}}},
		{"", Options{Jitter: Jitter{Key: "k"}}},

		{"", times(now, now)},
		{"without ResponseReceivedAt", times(now, time.Time{})},
		{"without RequestSentAt", times(time.Time{}, now)},
		{"1ns after", times(now.Add(1), now)},
		{"no monotonic", times(now.UTC(), now.UTC())},
		{"no monotonic", times(now.Round(0), now)},
		{"no monotonic", times(now, now.Round(0))},
		{"", times(now.Add(-50*aYear), now)},
		{"50 years", times(now.Add(-50*aYear-1), now)},
		// A minute on either side of the bound, because Plan reads the clock again.
		{"", times(now.Add(-50*aYear+time.Minute), now.Add(-50*aYear+time.Minute))},
		{"50 years", times(now.Add(-50*aYear-time.Minute), now.Add(-50*aYear-time.Minute))},
		{"", times(now.Add(50*aYear-time.Minute), now.Add(50*aYear-time.Minute))},
		{"50 years", times(now.Add(50*aYear+time.Minute), now.Add(50*aYear+time.Minute))},

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
		if !strings.HasPrefix(c.want, "Rand") { // Rand is called only if there is a plan
			headers = append(headers, nil, fields("Retry-After", "x"), fields("Retry-After", d30))
		}
		for _, header := range headers {
			p, err := Plan(header, c.opts)
			if c.want == "" {
				if errors.Is(err, ErrInvalidOptions) {
					t.Errorf("Plan(%v, %+v): %v", header, c.opts, err)
				}
			} else if !errors.Is(err, ErrInvalidOptions) || !strings.Contains(err.Error(), c.want) || p != (RetryPlan{}) {
				t.Errorf("Plan(%v, %+v) = %#v, %v, want an error with %q", header, c.opts, p, err, c.want)
			}
		}
	}
	// The result of Rand is checked before MaxWait.
	opts := random(math.NaN())
	opts.MaxWait = 1
	if p, err := Plan(fields("Retry-After", "30"), opts); !errors.Is(err, ErrInvalidOptions) || p != (RetryPlan{}) {
		t.Errorf("a bad Rand and a short MaxWait: %v, %v", p, err)
	}
}

// TestPlanInBubble plans where no time has a monotonic reading. A time that has one was
// taken outside the bubble.
func TestPlanInBubble(t *testing.T) {
	outside := time.Now()
	synctest.Test(t, func(t *testing.T) {
		for _, opts := range []Options{
			{RequestSentAt: outside, ResponseReceivedAt: outside},
			{RequestSentAt: time.Now(), ResponseReceivedAt: outside},
			{RequestSentAt: outside, ResponseReceivedAt: time.Now()},
		} {
			_, err := Plan(fields("Retry-After", "30"), opts)
			if !errors.Is(err, ErrInvalidOptions) || !strings.HasSuffix(err.Error(), "inside the testing/synctest bubble") {
				t.Errorf("times taken outside: error %v, want ErrInvalidOptions", err)
			}
		}

		sent := time.Now()
		time.Sleep(200 * time.Millisecond)
		received := time.Now()
		time.Sleep(time.Second)
		opts := Options{RequestSentAt: sent, ResponseReceivedAt: received.UTC(), Jitter: Jitter{Rand: noJitter}}
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
		time.Sleep(time.Second)
		if got := p.Deadline.Remaining(); got != -time.Second {
			t.Errorf("%v remain a second after the deadline", got)
		}
	})
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
			40 * time.Second, fields("Retry-After", d30, "Date", d0), Options{},
			"wait 37.5s = floor 30s (http-date 30s) + jitter 7.5s of 7.5s; client clock 40s ahead",
		}, {
			-39600 * time.Millisecond, fields("Retry-After", "30", "Date", d0, "Age", "20"), Options{},
			"wait 12.5s = floor 10s (delay-seconds 30s - age 20s) + jitter 2.5s of 2.5s; client clock 1m0s behind",
		}, {
			time.Second, fields("Retry-After", "30", "Date", d0, "Age", "0"), Options{},
			"wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; client clock correct to a second",
		}, {
			-time.Second, fields("Retry-After", "30", "Date", d0), Options{},
			"wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; client clock correct to a second",
		}, {
			-time.Second - 1, fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0), Options{},
			"wait 250ms = floor 0s (http-date -1s, clamped to zero) + jitter 250ms of 250ms; client clock 1s behind",
		}, {
			time.Second + 1, fields("Retry-After", "0", "Date", d0), Options{MinWait: 8 * time.Second, Jitter: Jitter{Rand: func() float64 { return 0.5 }}},
			"wait 9s = MinWait 8s over floor 0s (delay-seconds 0s) + jitter 1s of 2s; client clock 1s ahead",
		}, {
			0, fields("Retry-After", "0", "Date", "Fri, 31 Dec 9999 23:59:59 GMT"), Options{},
			"wait 250ms = floor 0s (delay-seconds 0s) + jitter 250ms of 250ms; client clock 2562047h47m16.854775807s behind",
		}, {
			0, fields("Retry-After", "30", "Age", "689"), Options{MinWait: 8 * time.Second},
			"wait 10s = MinWait 8s over floor 0s (delay-seconds 30s - age 11m29s, clamped to zero) + jitter 2s of 2s; client clock unknown: no usable Date",
		}, {
			0, nil, Options{MinWait: 8 * time.Second},
			"wait 10s = MinWait 8s over floor 0s (no Retry-After) + jitter 2s of 2s; client clock unknown: no usable Date",
		}, {
			0, fields("Retry-After", d30), Options{OnMissingDate: TrustClientClock},
			"wait 37.5s = floor 30s (http-date 30s) + jitter 7.5s of 7.5s; counted from the client's clock: no Date",
		},
	} {
		if c.opts.Jitter.Rand == nil {
			c.opts.Jitter.Rand = fullJitter
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
		p, err := Plan(header, Options{Jitter: Jitter{Rand: fullJitter}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the estimate is of the deadline, not of the call
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

// TestPlanJSON encodes a plan with Source and Deadline as text. It cannot be decoded.
func TestPlanJSON(t *testing.T) {
	p, err := Plan(fields("Retry-After", d30, "Date", d0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	deadline, err := time.Parse(time.RFC3339Nano, fmt.Sprint(values["Deadline"]))
	if values["Source"] != "http-date" || values["Floor"] != 30e9 || err != nil || deadline.Before(t0) {
		t.Errorf("JSON is %s", text)
	}
	if err := json.Unmarshal(text, new(RetryPlan)); err == nil {
		t.Errorf("%s was decoded", text)
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
	p, err := Plan(fields("Retry-After", "0"), Options{Jitter: Jitter{Spread: 1, Rand: noJitter}})
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
		0, 1, -1, time.Second, 250*time.Millisecond - 1, 250 * time.Millisecond, 30 * time.Second, 120 * time.Second,
		50*aYear - 1, 50 * aYear, 50*aYear + 1, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64,
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
	if aYear := date.Year(); 1900 <= aYear && aYear < 2100 {
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
		value = rapid.Map(durations, func(d time.Duration) time.Duration { return d.Abs() % (50*aYear + 1) })
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
		in.opts.ResponseReceivedAt = in.wall.Add(-rapid.SampledFrom([]time.Duration{0, time.Second, 50 * aYear}).Draw(t, "ago"))
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
		instructed = seconds.Mul(seconds, number(time.Second))
	}
	age = new(big.Int)
	if lines := in.header["Age"]; len(lines) > 0 {
		first := strings.Trim(strings.Split(lines[0], ",")[0], " \t")
		if n, ok := new(big.Int).SetString(first, 10); ok && strings.Trim(first, "0123456789") == "" && n.Cmp(big.NewInt(1577880000)) <= 0 {
			age.Mul(n, number(time.Second))
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
	outside := func(d time.Duration) bool { return d < 0 || d > 50*aYear }
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
		if o.OnMissingDate != TrustClientClock || instruction.Date.Sub(in.receipt()) > 50*aYear {
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
	p, err := completePlan(in.wall, in.header, in.opts)
	checkVerdict(fatalf, in, p, err)
	if p == (RetryPlan{}) {
		return
	}
	checkSums(fatalf, in, p, err)
	if again, _ := completePlan(in.wall, in.header, in.opts); again != p {
		fatalf("the same input makes %+v, and then %+v", p, again)
	}
	if !p.TrustedClientClock {
		checkFloor(fatalf, in, p)
		checkMoved(fatalf, in, p, err)
	}
	// A response a second older has no higher floor.
	if older := p.Age + time.Second; older <= 50*aYear {
		opts := in.opts
		opts.Age = &older
		if other, _ := completePlan(in.wall, in.header, opts); other.Floor > p.Floor {
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
	other, otherErr := completePlan(in.wall.Add(time.Hour), in.header, opts)
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
