package retryafter

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func delayOf(seconds int64) Instruction {
	return Instruction{Source: DelaySeconds, Delay: time.Duration(seconds) * time.Second}
}

func dateOf(unix int64) Instruction {
	return Instruction{Source: HTTPDate, Date: time.Unix(unix, 0).UTC()}
}

// acceptedValues are field values and the instruction that each of them means.
var acceptedValues = []struct {
	value string
	want  Instruction
	note  string
}{
	{"0", delayOf(0), "zero is an instruction"},
	{"120", delayOf(120), "the example of RFC 9110"},
	{"0120", delayOf(120), "a leading zero does not mean octal"},
	{"2000", delayOf(2000), "not the year 2000"},
	{" 120 ", delayOf(120), "blanks around the value are not part of it"},
	{"\t \t120\t \t", delayOf(120), "tabs are blanks too"},
	{"2592000", delayOf(2592000), "30 days, which do not fit in 31 bits of milliseconds"},
	{"1577880000", delayOf(1577880000), "exactly 50 years"},
	{strings.Repeat("0", 100) + "30", delayOf(30), "leading zeros do not make a number large"},

	{"Tue, 04 Aug 2026 12:00:30 GMT", dateOf(1785844830), "IMF-fixdate"},
	{"Sun, 06 Nov 1994 08:49:37 GMT", dateOf(784111777), "the example of RFC 9110"},
	{"Sunday, 06-Nov-94 08:49:37 GMT", dateOf(784111777), "RFC 850; by the day name the year is 1994"},
	{"Sun Nov  6 08:49:37 1994", dateOf(784111777), "asctime with a blank and one digit"},
	{"Tuesday, 04-Aug-26 12:00:30 GMT", dateOf(1785844830), "RFC 850; by the day name the year is 2026"},
	{"Tue Aug 04 12:00:30 2026", dateOf(1785844830), "asctime with a leading zero"},
	{" Tue, 04 Aug 2026 12:00:30 GMT\t", dateOf(1785844830), "blanks around a date"},
	{"Tuesday, 29-Feb-00 00:00:00 GMT", dateOf(951782400), "2000 is a leap year"},
	{"Monday, 15-Jun-76 08:49:37 GMT", dateOf(3359436577), "by the day name 2076"},
	{"Tuesday, 15-Jun-76 08:49:37 GMT", dateOf(203676577), "by the day name 1976"},
	{"Monday, 01-Jan-00 00:00:00 GMT", dateOf(-2208988800), "by the day name 1900"},
	{"Thursday, 31-Dec-99 23:59:59 GMT", dateOf(4102444799), "the last minute that RFC 850 can write"},
	{"Friday, 31-Dec-99 23:59:60 GMT", dateOf(946684800), "a leap second at the end of 1999"},
	{"Sat, 31 Dec 2016 23:59:60 GMT", dateOf(1483228800), "a leap second becomes the next day's first second"},
	{"Tue, 04 Aug 2026 23:59:60 GMT", dateOf(1785888000), "any day may end in a leap second"},
	{"Thu, 29 Feb 2024 00:00:00 GMT", dateOf(1709164800), "a leap day"},
	{"Fri, 31 Dec 9999 23:59:59 GMT", dateOf(253402300799), "the last second that IMF-fixdate can write"},
	{"Sat, 01 Jan 0000 00:00:00 GMT", dateOf(-62167219200), "the first second that IMF-fixdate can write"},
	{"Tue, 29 Feb 0000 00:00:00 GMT", dateOf(-62162121600), "year 0 is a leap year"},
	{"Thu, 01 Jan 1970 00:00:00 GMT", dateOf(0), "Unix time 0"},
}

// refusedValues are field values and the error that each of them causes.
var refusedValues = []struct {
	value string
	want  error
	note  string
}{
	{"", ErrEmpty, "nothing"},
	{"   ", ErrEmpty, "only spaces"},

	{"-1", ErrDelaySyntax, "a negative number"},
	{"+30", ErrDelaySyntax, "a sign, which strconv.Atoi accepts"},
	{" 30s\t", ErrDelaySyntax, "the error holds the blanks too"},
	{"1.5", ErrDelaySyntax, "a fraction"},
	{".5", ErrDelaySyntax, "a dot at the start"},
	{"1e3", ErrDelaySyntax, "an exponent"},
	{"0x10", ErrDelaySyntax, "hexadecimal"},
	{"1_000", ErrDelaySyntax, "a digit separator"},
	{"30s", ErrDelaySyntax, "a unit"},
	{"120\x00", ErrDelaySyntax, "a control byte"},
	{"1\u0662", ErrDelaySyntax, "an Arabic digit after an ASCII digit"},
	{"2026-08-04", ErrDelaySyntax, "an ISO 8601 date without a time"},
	{"99999999999999999999x", ErrDelaySyntax, "too many digits, and a letter after them"},

	{"1577880001", ErrTooFarAhead, "one second more than 50 years"},
	{"1785844830", ErrTooFarAhead, "a Unix time"},
	{"9223372037", ErrTooFarAhead, "overflows a time.Duration to a negative one"},
	{"18446744074", ErrTooFarAhead, "overflows a time.Duration to 290ms"},
	{"9223372036854775808", ErrTooFarAhead, "overflows an int64"},
	{"18446744073709551646", ErrTooFarAhead, "overflows 64 bits to 30"},
	{"99999999999999999999999999999999999999", ErrTooFarAhead, "overflows every integer type"},

	{"120, 60", ErrMultipleValues, "two delays"},
	{"30,120", ErrMultipleValues, "two delays without a blank"},
	{"7, 7", ErrMultipleValues, "two equal delays"},
	{"120,", ErrMultipleValues, "a comma at the end"},
	{", 120", ErrMultipleValues, "a comma at the start"},
	{",", ErrMultipleValues, "only a comma"},
	{"30s, soon", ErrMultipleValues, "a digit before the comma"},
	{"Tue, 04 Aug 2026 12:00:30 GMT, 120", ErrMultipleValues, "a date and a delay"},
	{"Tue, 04 Aug 2026 12:00:30 GMT, Tue, 04 Aug 2026 12:01:30 GMT", ErrMultipleValues, "two dates"},

	{"Tue, 04 Aug 2026 12:00:30 UTC", ErrNonGMTZone, "another name of GMT"},
	{"Tue, 04 Aug 2026 12:00:30 EST", ErrNonGMTZone, "a zone that time.Parse takes as UTC"},
	{"Tue, 04 Aug 2026 12:00:30 +0000", ErrNonGMTZone, "a zone in digits"},
	{"Tue, 04 Aug 2026 12:00:30 gmt", ErrNonGMTZone, "GMT in lower case"},
	{"Tue, 04 Aug 2026 12:00:30 GMT+1", ErrNonGMTZone, "an offset from GMT"},
	{"Tue, 04 Aug 2026 12:00:30", ErrNonGMTZone, "no zone"},
	{"Tue, 04 Aug 2026 12:00:30 GMT\x00", ErrNonGMTZone, "a control byte after GMT"},
	{"Tuesday, 04-Aug-26 12:00:30 PST", ErrNonGMTZone, "another zone in RFC 850"},

	{"Mon, 30 Feb 2026 00:00:00 GMT", ErrNoSuchDay, "30 February"},
	{"Sun, 29 Feb 2026 00:00:00 GMT", ErrNoSuchDay, "29 February in a common year"},
	{"Mon, 29 Feb 2100 00:00:00 GMT", ErrNoSuchDay, "a year divisible by 100 is not a leap year"},
	{"Sun, 00 Nov 1994 08:49:37 GMT", ErrNoSuchDay, "day 0"},
	{"Sat, 00 Jan 0000 00:00:00 GMT", ErrNoSuchDay, "day 0, and every other number is 0 too"},
	{"Sat, 32 Jan 2026 00:00:00 GMT", ErrNoSuchDay, "day 32"},
	{"Fri, 31 Apr 2026 00:00:00 GMT", ErrNoSuchDay, "April has 30 days"},
	{"Wed, 31 Jun 2026 00:00:00 GMT", ErrNoSuchDay, "June has 30 days"},
	{"Thu, 31 Sep 2026 00:00:00 GMT", ErrNoSuchDay, "September has 30 days"},
	{"Tue, 31 Nov 2026 00:00:00 GMT", ErrNoSuchDay, "November has 30 days"},
	{"Fri Feb 30 00:00:00 2024", ErrNoSuchDay, "30 February of a leap year, in asctime"},
	{"Sunday, 29-Feb-26 00:00:00 GMT", ErrNoSuchDay, "neither 2026 nor 1926 is a leap year"},

	{"Tue, 04 Aug 2026 24:00:00 GMT", ErrTimeOfDay, "the end of the day in ISO 8601"},
	{"Tue, 04 Aug 2026 12:60:00 GMT", ErrTimeOfDay, "minute 60"},
	{"Tue, 04 Aug 2026 12:00:60 GMT", ErrTimeOfDay, "a leap second at noon"},
	{"Tue, 04 Aug 2026 23:58:60 GMT", ErrTimeOfDay, "a leap second a minute before midnight"},
	{"Tue, 04 Aug 2026 22:59:60 GMT", ErrTimeOfDay, "a leap second an hour before midnight"},
	{"Tue, 04 Aug 2026 23:59:61 GMT", ErrTimeOfDay, "two leap seconds"},
	{"Fri, 31 Dec 9999 23:59:60 GMT", ErrTimeOfDay, "a leap second that would begin the year 10000"},

	{"Mon, 04 Aug 2026 12:00:30 GMT", ErrDayNameMismatch, "the name of the day before"},
	{"Wed, 04 Aug 2026 23:59:60 GMT", ErrDayNameMismatch, "a leap second belongs to the day that it ends"},
	{"Thu Aug  4 12:00:30 2026", ErrDayNameMismatch, "another day name in asctime"},
	{"Friday, 04-Aug-26 12:00:30 GMT", ErrDayNameMismatch, "a Friday neither in 2026 nor in 1926"},
	{"Thursday, 29-Feb-00 00:00:00 GMT", ErrDayNameMismatch, "29 February is a Tuesday in 2000, and does not exist in 1900"},

	{"tue, 04 Aug 2026 12:00:30 GMT", ErrDateName, "the day name in lower case"},
	{"Tue, 04 aug 2026 12:00:30 GMT", ErrDateName, "the month in lower case"},
	{"Die, 04 Aug 2026 12:00:30 GMT", ErrDateName, "a German day name"},
	{"Di., 04 Aug. 2026 12:00:30 GMT", ErrDateName, "German names with dots"},
	{"mar., 04 ao\u00fbt 2026 12:00:30 GMT", ErrDateName, "French names, one with a dot"},
	{"mi\u00e9, 04 ago 2026 12:00:30 GMT", ErrDateName, "Spanish names"},
	{"\u0412\u0442, 04 \u0430\u0432\u0433 2026 12:00:30 GMT", ErrDateName, "Russian names"},
	{"Tu, 04 Aug 2026 12:00:30", ErrDateName, "a day name of two letters, and no zone"},
	{"Tues, 04 Aug 2026 12:00:30 UTC", ErrDateName, "a day name of four letters, and another zone"},
	{"Tuesday, 04 ao\u00fbt 2026 12:00:30 GMT", ErrDateName, "a French month after a day name of RFC 850"},
	{"Tue, 04 Aug. 2026 12:00:30 GMT", ErrDateName, "a month with a dot after an English day name"},
	{"Tuesday, 04-AUG-26 12:00:30 GMT", ErrDateName, "the month of RFC 850 in upper case"},
	{"mi\u00e9rcoles, 05-ago-26 12:00:30 GMT", ErrDateName, "Spanish names in RFC 850"},
	{"Tues, 04-Aug-26 12:00:30 GMT", ErrDateName, "a day name of four letters in RFC 850"},

	{"inf", ErrDateSyntax, "a word that strconv.ParseFloat accepts"},
	{"never, ever", ErrDateSyntax, "a single comma without a digit before it"},
	{"\u00b2", ErrDateSyntax, "a superscript two"},
	{"2026-08-04T12:00:30Z", ErrDateSyntax, "an ISO 8601 date with a time"},
	{"-0:30", ErrDateSyntax, "a sign and a colon"},
	{"04 Aug 2026 12:00:30 GMT", ErrDateSyntax, "no day name"},
	{"Tue, 4 Aug 2026 12:00:30 GMT", ErrDateSyntax, "a day of one digit"},
	{"Tue, 04 Aug 26 12:00:30 GMT", ErrDateSyntax, "a year of two digits"},
	{"Tue, 04 Aug 2026 7:00:30 GMT", ErrDateSyntax, "an hour of one digit"},
	{"Tue, 04-Aug-26 12:00:30 GMT", ErrDateSyntax, "RFC 850 with the short day name"},
	{"T, 04-Aug-26 12:00:30 GMT", ErrDateSyntax, "RFC 850 with a day name of one letter"},
	{"Sunday, 02 Aug 2026 12:00:30 GMT", ErrDateSyntax, "IMF-fixdate with the long day name"},
	{"Tue Aug 4 12:00:30 2026", ErrDateSyntax, "asctime with one blank"},
	{"Tue Aug  4 12:00:30 2026 GMT", ErrDateSyntax, "asctime with a zone"},
	{"Tue, 04 Aug 2026 12.00.30 GMT", ErrDateSyntax, "dots in the time of day"},
	{"Tue, 04 Aug 2026 12:00:30.5 GMT", ErrDateSyntax, "a fraction of a second"},
	{"Tue, 04 Aug 2026 12.00.30 GMT junk", ErrDateSyntax, "dots in the time of day, and two words after it"},
	{"mi\u00e9, 04  2026 12:00:30 GMT", ErrDateSyntax, "a Spanish day name, and no month"},
	{"sam, 4 ao\u00fbt 2026 12:00:30 GMT", ErrDateSyntax, "French names, and a day of one digit"},
	{"sam, 04 ao\u00fbt 2026 12:00:30 GMT junk", ErrDateSyntax, "French names, and two words after the time"},
	{"sam, 04 ao\u00fbt 2026 12.00:30 GMT", ErrDateSyntax, "French names, and a dot in the time of day"},
}

func TestParseRetryAfter(t *testing.T) {
	for _, c := range acceptedValues {
		if got, err := ParseRetryAfter(c.value); got != c.want || err != nil {
			t.Errorf("ParseRetryAfter(%q) = %#v, %v; want %#v: %s", c.value, got, err, c.want, c.note)
		}
	}
	for _, c := range refusedValues {
		want := FieldError{Field: "Retry-After", Value: c.value, Err: c.want}
		got, err := ParseRetryAfter(c.value)
		var fe *FieldError
		if !errors.As(err, &fe) || *fe != want || !errors.Is(err, c.want) || got != (Instruction{}) {
			t.Errorf("ParseRetryAfter(%q) = %#v, %#v; want %#v: %s", c.value, got, err, want, c.note)
		}
	}
}

// TestEveryDay formats days of the years 0 to 9999 in the forms that can express them,
// and parses them: every day from 6 January 1900 to 2099, and every 41st of the others.
// From 1900 to 2099 RFC 850 is one of the forms, so the day name always determines the
// century.
func TestEveryDay(t *testing.T) {
	const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"
	for want := time.Date(0, 1, 1, 8, 49, 37, 0, time.UTC); want.Year() <= 9999; {
		layouts, step := []string{http.TimeFormat, time.ANSIC}, 41
		if year := want.Year(); 1900 <= year && year < 2100 {
			layouts, step = append(layouts, rfc850), 1
		}
		for _, layout := range layouts {
			value := want.Format(layout)
			if got, err := ParseRetryAfter(value); err != nil || got.Date != want {
				t.Fatalf("ParseRetryAfter(%q) = %#v, %v", value, got, err)
			}
		}
		want = want.AddDate(0, 0, step)
	}
}

// TestOneByteWrong replaces each byte of a value by every other byte, inserts every byte
// before it, and cuts the value off there.
func TestOneByteWrong(t *testing.T) {
	for _, value := range []string{
		"120",
		"Tue, 04 Aug 2026 12:00:30 GMT",
		"Tuesday, 04-Aug-26 12:00:30 GMT",
		"Tue Aug  4 12:00:30 2026",
		"Fri, 31 Dec 9999 23:59:59 GMT",
		"Fri Dec 31 23:59:59 9999",
		"mi\u00e9, 04 ago 2026 12:00:30 GMT",
		"mar., 04 ao\u00fbt 2026 23:59:59 GMT",
	} {
		for i := range len(value) {
			checkParse(t, value[:i])
			for b := range 256 {
				wrong := string([]byte{byte(b)})
				checkParse(t, value[:i]+wrong+value[i+1:])
				checkParse(t, value[:i]+wrong+value[i:])
			}
		}
	}
}

func TestInstructionString(t *testing.T) {
	kathmandu := time.FixedZone("+0545", 5*3600+45*60)
	lastSecond := time.Unix(253402300799, 0)
	for _, c := range []struct {
		in   Instruction
		want string
	}{
		{Instruction{}, ""},
		{Instruction{Source: HTTPDate + 1, Delay: time.Second}, ""},
		// A delay is rounded up to a whole second, and a negative one printed as 0.
		{Instruction{Source: DelaySeconds, Delay: 1}, "1"},
		{Instruction{Source: DelaySeconds, Delay: 30500 * msec}, "31"},
		{Instruction{Source: DelaySeconds, Delay: math.MaxInt64}, "9223372037"},
		{Instruction{Source: DelaySeconds, Delay: -1}, "0"},
		{Instruction{Source: DelaySeconds, Delay: math.MinInt64}, "0"},
		// A date is printed in UTC, and rounded up to a whole second.
		{Instruction{Source: HTTPDate}, "Mon, 01 Jan 0001 00:00:00 GMT"},
		{Instruction{Source: HTTPDate, Date: time.Unix(0, 0).In(kathmandu)}, "Thu, 01 Jan 1970 00:00:00 GMT"},
		{Instruction{Source: HTTPDate, Date: time.Unix(0, 1).In(kathmandu)}, "Thu, 01 Jan 1970 00:00:01 GMT"},
		{Instruction{Source: HTTPDate, Date: time.Unix(-1, 999999999)}, "Thu, 01 Jan 1970 00:00:00 GMT"},
		// No field value can express a year below 0 or above 9999.
		{Instruction{Source: HTTPDate, Date: lastSecond}, "Fri, 31 Dec 9999 23:59:59 GMT"},
		{Instruction{Source: HTTPDate, Date: lastSecond.Add(1)}, ""},
		{Instruction{Source: HTTPDate, Date: time.Unix(-62167219200, 0)}, "Sat, 01 Jan 0000 00:00:00 GMT"},
		{Instruction{Source: HTTPDate, Date: time.Unix(-62167219201, 0)}, ""},
	} {
		if got := c.in.String(); got != c.want {
			t.Errorf("%#v.String() = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestSourceText(t *testing.T) {
	for source, want := range []string{"none", "delay-seconds", "http-date", "Source(3)"} {
		source := Source(source)
		if text, err := source.MarshalText(); source.String() != want || string(text) != want || err != nil {
			t.Errorf("Source %d: String() = %q, MarshalText() = %q, %v; want %q", source, source, text, err, want)
		}
	}
}

// TestErrorMessages lists the complete message of every error. The other messages of
// ErrInvalidOptions are in TestInvalidOptions and TestRand, those of WaitFor in TestWaitFor.
func TestErrorMessages(t *testing.T) {
	type message struct {
		sentinel, err error
		want          string
	}
	value := func(sentinel error, value, want string) message {
		_, err := ParseRetryAfter(value)
		return message{sentinel, err, `Retry-After "` + value + `": ` + want}
	}
	plan := func(opts Options, pairs ...string) error {
		_, err := planOn(t0, fields(pairs...), opts)
		return err
	}
	none, trust := Options{}, Options{OnMissingDate: TrustClientClock}
	const (
		d51y     = "Wed, 04 Aug 2077 12:00:00 GMT"
		multiple = "more than one value: have the server and its proxies send exactly one"
		tooFar   = "more than 50 years ahead: " +
			"have the server send the seconds to wait (not a Unix time) or a nearer date"
		syntax  = `not an HTTP-date: have the server send a date like "Sun, 06 Nov 1994 08:49:37 GMT"`
		missing = "no Date field to count from: " +
			"have the server send or expose Date, or set OnMissingDate to TrustClientClock"
		before = "earlier than the response: " +
			"have the server use one clock for both, and keep proxies from changing Date"
	)
	empty, a64, e32 := ErrEmpty.Error(), strings.Repeat("a", 64), strings.Repeat("é", 32)
	for _, c := range []message{
		value(ErrEmpty, " ", "empty value: have the server send seconds or a date"),
		value(ErrMultipleValues, "120, 60", multiple),
		value(ErrDelaySyntax, "30s", "not a whole number of seconds: have the server send digits only"),
		value(ErrTooFarAhead, "1785844830", tooFar),
		value(ErrDateSyntax, "soon", syntax),
		value(ErrDateName, "Die, 04 Aug 2026 12:00:30 GMT",
			"unknown day or month name: have the server send English names, such as Sun, Sunday and Nov"),
		value(ErrNoSuchDay, "Sun, 29 Feb 2026 00:00:00 GMT",
			"no such day in that month: have the server correct its date"),
		value(ErrTimeOfDay, "Tue, 04 Aug 2026 24:00:00 GMT",
			"no such time of day: have the server send 00:00:00 to 23:59:59, or 23:59:60 for a leap second"),
		value(ErrNonGMTZone, "Tue, 04 Aug 2026 12:00:30 EST",
			"the time zone is missing or not GMT: have the server convert the time to UTC and write GMT"),
		value(ErrDayNameMismatch, "Mon, 04 Aug 2026 12:00:30 GMT",
			"the day name does not match the date: have the server correct its date"),

		{ErrMultipleValues, plan(none, "Retry-After", "7", "Retry-After", " 7"),
			`Retry-After "7,  7": ` + multiple},
		{ErrMultipleValues, plan(none, "Retry-After", d30, "Date", "x", "Date", ""), `Date "x, ": ` + multiple},
		{ErrEmpty, plan(none, "Retry-After", d30, "Date", " "), `Date " ": ` + empty},
		{ErrDateSyntax, plan(none, "Retry-After", d30, "Date", "\tx"), `Date "\tx": ` + syntax},
		{ErrMissingDate, plan(none, "Retry-After", d30), `Retry-After "` + d30 + `": ` + missing},
		{ErrBeforeDate, plan(none, "Retry-After", d0, "Date", " "+d30),
			`Retry-After "` + d0 + `" beside Date " ` + d30 + `": ` + before},
		{ErrTooFarAhead, plan(none, "Retry-After", d51y, "Date", d0),
			`Retry-After "` + d51y + `" beside Date "` + d0 + `": ` + tooFar},
		{ErrTooFarAhead, plan(trust, "Retry-After", d51y),
			`Retry-After "` + d51y + `", counted from this client's clock: ` + tooFar},

		// At most 64 bytes of the value are quoted, and escaped for a log.
		{ErrEmpty, fieldError("Date", a64, ErrEmpty), `Date "` + a64 + `": ` + empty},
		{ErrEmpty, fieldError("Date", a64+"b", ErrEmpty), `Date "` + a64 + `"... (65 bytes): ` + empty},
		{ErrEmpty, fieldError("Date", e32+"é", ErrEmpty), `Date "` + e32 + `"... (66 bytes): ` + empty},
		{ErrEmpty, fieldError("Date", "\xff\"\n\u2028é", ErrEmpty), `Date "\xff\"\n\u2028é": ` + empty},

		{ErrNoRetryAfter, plan(none), "no Retry-After field: set MinWait to your own backoff"},
		{ErrInvalidOptions, plan(Options{Attempt: -1}), "invalid options: Attempt is negative: -1"},
		{ErrExceedsMaxWait, plan(Options{MaxWait: 10 * time.Second}, "Retry-After", "3600"),
			"the wait does not fit in MaxWait: queue the work or tell the caller (needed 1h0m0.25s, limit 10s)"},
		{ErrExceedsDeadline, ErrExceedsDeadline,
			"the wait does not fit in the context's deadline: queue the work or tell the caller"},
		{ErrZeroPlan, WaitFor(t.Context(), RetryPlan{}), "zero plan: check the error from Plan before waiting"},
	} {
		if got, want := fmt.Sprint(c.err), "retryafter: "+c.want; got != want || !errors.Is(c.err, c.sentinel) {
			t.Errorf("got  %s\nwant %s, which is %v", got, want, c.sentinel)
		}
		if n := len(c.sentinel.Error()); n > 140 {
			t.Errorf("%d bytes, want at most 140: %v", n, c.sentinel)
		}
	}
}

// TestMegabyteIsNotCopied rejects a megabyte of each of several short texts. The plan, the error
// and its message allocate less than 8 KiB, so there is no copy of the value among them.
func TestMegabyteIsNotCopied(t *testing.T) {
	for _, fill := range []string{"1", " ", "\t", ",", "a", "a,", "-", ":", ".", "\x00", "\xff", "Tue, "} {
		value := strings.Repeat(fill, 1<<20/len(fill)) + "!"
		for _, header := range []http.Header{
			fields("Retry-After", value),
			fields("Retry-After", d30, "Date", value),
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Plan(header, Options{})
			message := fmt.Sprint(err)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n >= 8<<10 || !strings.Contains(message, " bytes): ") {
				t.Errorf("Plan of a megabyte of %q allocates %d bytes, want less than 8192; or no \"bytes)\" in %s",
					fill, n, message)
			}
		}
	}
}

func TestParseAllocs(t *testing.T) {
	allocs := func(value string) float64 {
		return testing.AllocsPerRun(10, func() { ParseRetryAfter(value) })
	}
	for _, c := range acceptedValues {
		if n := allocs(c.value); n != 0 {
			t.Errorf("ParseRetryAfter(%q) allocates %v times, want 0", c.value, n)
		}
	}
	for _, c := range refusedValues {
		if n := allocs(c.value); n != 1 {
			t.Errorf("ParseRetryAfter(%q) allocates %v times, want 1, which is the error", c.value, n)
		}
	}
}

// The patterns of plainParse see each byte as one character.
var (
	plainDigits = regexp.MustCompile(`^\d+$`)
	plainPair   = regexp.MustCompile(`^[^,\d]*\d[^,]*,`)        // a digit before the first comma
	plainDelay  = regexp.MustCompile(`^[-+.\d][^:]*$`)          // begins like a number
	plainName   = regexp.MustCompile(`^[A-Za-z\x80-\xff]+\.?$`) // in any language
	plainTime   = regexp.MustCompile(`^(([01]\d|2[0-3]):[0-5]\d:[0-5]\d|23:59:60)$`)
	// The shape of a date that needs a zone, and the zone.
	plainZoned = regexp.MustCompile(`(?s)^(..., .. ... ....|[^,]{4,}, ..-...-..) .{8}( [^ \t]*)?$`)
	plainForms = []*regexp.Regexp{
		regexp.MustCompile(`^(?P<weekday>[^,]*), (?P<day>\d\d) (?P<month>[^ ]*) (?P<year>\d{4}) ` +
			`(?P<time>\d\d:\d\d:\d\d)( [^ \t]*)?$`),
		regexp.MustCompile(`(?s)^(?P<weekday>[^,]{4,}), (?P<day>\d\d)-(?P<month>...)-(?P<year>\d\d) ` +
			`(?P<time>\d\d:\d\d:\d\d)( [^ \t]*)?$`),
		regexp.MustCompile(`(?s)^(?P<weekday>...) (?P<month>...) (?P<day>[ \d]\d) ` +
			`(?P<time>\d\d:\d\d:\d\d) (?P<year>\d{4})$`),
	}
)

// plainParse parses a field value a second time, slowly, with regular expressions and with
// the calendar of package time. It returns every error that ParseRetryAfter may report.
func plainParse(value string) (Instruction, []error) {
	var bytes []rune
	for _, b := range []byte(strings.Trim(value, " \t")) {
		bytes = append(bytes, rune(b))
	}
	s := string(bytes)
	switch {
	case s == "":
		return Instruction{}, []error{ErrEmpty}
	case plainDigits.MatchString(s):
		n, _ := new(big.Int).SetString(s, 10)
		if n.Cmp(big.NewInt(50*365.25*24*3600)) > 0 {
			return Instruction{}, []error{ErrTooFarAhead}
		}
		return delayOf(n.Int64()), nil
	case strings.Count(s, ",") > 1 || strings.Trim(s, ",") != s || plainPair.MatchString(s):
		return Instruction{}, []error{ErrMultipleValues}
	case plainDelay.MatchString(s):
		return Instruction{}, []error{ErrDelaySyntax}
	}
	in, errs := Instruction{}, []error{ErrDateSyntax}
	for _, form := range plainForms {
		if m := form.FindStringSubmatch(s); m != nil {
			part := map[string]string{}
			for i, name := range form.SubexpNames() {
				part[name] = m[i]
			}
			in, errs = plainDate(part)
		}
	}
	if m := plainZoned.FindStringSubmatch(s); m != nil && m[2] != " GMT" {
		return Instruction{}, append(errs, ErrNonGMTZone)
	}
	return in, errs
}

// plainDate returns the date of the parts of an HTTP-date, or their errors.
func plainDate(part map[string]string) (Instruction, []error) {
	dayName, monthName, rfc850 := part["weekday"], part["month"], len(part["year"]) == 2
	if !plainName.MatchString(dayName) || !plainName.MatchString(monthName) {
		return Instruction{}, []error{ErrDateSyntax}
	}
	weekday, month := -1, 0
	for i := range 7 {
		long := time.Weekday(i).String()
		if rfc850 && dayName == long || !rfc850 && dayName == long[:3] {
			weekday = i
		}
	}
	for i := range 12 {
		if monthName == time.Month(i + 1).String()[:3] {
			month = i + 1
		}
	}
	if weekday < 0 && !rfc850 && strings.HasSuffix(dayName, "day") {
		// The long day name in another form: either error is right.
		return Instruction{}, []error{ErrDateName, ErrDateSyntax}
	} else if weekday < 0 || month == 0 {
		return Instruction{}, []error{ErrDateName}
	}

	var year, day, hour, minute, second int
	fmt.Sscanf(part["year"], "%d", &year)
	fmt.Sscanf(part["day"], "%d", &day)
	fmt.Sscanf(part["time"], "%d:%d:%d", &hour, &minute, &second)
	midnight := func(year int) (t time.Time, exists, named bool) {
		t = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		return t, t.Day() == day, t.Day() == day && int(t.Weekday()) == weekday
	}
	if rfc850 {
		year += 2000
		if _, _, named := midnight(year - 100); named {
			year -= 100
		}
	}
	var errs []error
	t, exists, named := midnight(year)
	t = t.Add(time.Duration(hour*3600+minute*60+second) * time.Second)
	if !exists {
		errs = append(errs, ErrNoSuchDay)
	} else if !named {
		errs = append(errs, ErrDayNameMismatch)
	}
	if !plainTime.MatchString(part["time"]) || t.Year() > 9999 {
		errs = append(errs, ErrTimeOfDay)
	}
	if errs != nil {
		return Instruction{}, errs
	}
	return Instruction{Source: HTTPDate, Date: t}, nil
}

// checkParse compares ParseRetryAfter with plainParse and, for a date, with net/http. It
// also checks two rules: the text of an Instruction parses to the same Instruction, and
// blanks around a value change nothing.
func checkParse(t *testing.T, value string) {
	got, err := ParseRetryAfter(value)
	want, errs := plainParse(value)
	if err != nil {
		var fe *FieldError
		if !errors.As(err, &fe) || fe.Value != value || got != (Instruction{}) || !slices.Contains(errs, fe.Err) {
			t.Fatalf("ParseRetryAfter(%q) = %#v, %v; want %#v, one of %v", value, got, err, want, errs)
		}
	} else if errs != nil || got != want {
		t.Fatalf("ParseRetryAfter(%q) = %#v; want %#v or an error of %v", value, got, want, errs)
	} else if again, err := ParseRetryAfter(got.String()); again != got || err != nil {
		t.Fatalf("ParseRetryAfter(%q).String() = %q, which parses to %#v, %v", value, got, again, err)
	}
	blank, blankErr := ParseRetryAfter(" \t" + value + "\t ")
	if blank != got || errors.Unwrap(blankErr) != errors.Unwrap(err) {
		t.Fatalf("ParseRetryAfter(%q) = %#v, %v, but with blanks %#v, %v", value, got, err, blank, blankErr)
	}
	// net/http rejects leap seconds, and takes a year of two digits as 1969 to 2068. Such a
	// year is moved by whole centuries to the one that the day name fits.
	if err == nil && got.Source == HTTPDate && !strings.Contains(value, "23:59:60") {
		std, err := http.ParseTime(strings.Trim(value, " \t"))
		std = std.AddDate((got.Date.Year()-std.Year())/100*100, 0, 0)
		if err != nil || !std.Equal(got.Date) {
			t.Fatalf("ParseRetryAfter(%q) = %#v, but http.ParseTime returns %v, %v", value, got, std, err)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, c := range acceptedValues {
		f.Add(c.value)
	}
	for _, c := range refusedValues {
		f.Add(c.value)
	}
	f.Fuzz(checkParse)
}

// versus runs two benchmarks and reports their ratio: the time of ours divided by the
// median time of theirs. Compare only ratios from the same run of go test.
func versus(b *testing.B, name, baseline string, theirs, ours func(b *testing.B)) {
	perOp := func(b *testing.B) float64 { return float64(b.Elapsed()) / float64(b.N) }
	b.Run(name, func(b *testing.B) {
		var times []float64
		b.Run(baseline, func(b *testing.B) {
			b.ReportAllocs()
			theirs(b)
			times = append(times, perOp(b))
		})
		b.Run("retryafter", func(b *testing.B) {
			b.ReportAllocs()
			ours(b)
			slices.Sort(times)
			if len(times) > 0 { // none if -bench excludes the baseline
				b.ReportMetric(perOp(b)/times[len(times)/2], "ratio")
			}
		})
	})
}

func BenchmarkParseRetryAfter(b *testing.B) {
	seconds, atoi := parsing(ParseRetryAfter, "120", true), parsing(strconv.Atoi, "120", true)
	dates := func(form, value string, ok bool) {
		versus(b, form, "http.ParseTime", parsing(http.ParseTime, value, ok), parsing(ParseRetryAfter, value, ok))
	}
	dates("IMF-fixdate", "Tue, 04 Aug 2026 12:00:30 GMT", true)
	dates("RFC850", "Tuesday, 04-Aug-26 12:00:30 GMT", true)
	dates("asctime", "Tue Aug  4 12:00:30 2026", true)
	dates("wrong-zone", "Tue, 04 Aug 2026 12:00:30 +0000", false)
	versus(b, "seconds", "strconv.Atoi", atoi, seconds)
}

// parsing returns a benchmark of parse, which has to accept the value if ok is true, and to
// reject it if not.
func parsing[T any](parse func(string) (T, error), value string, ok bool) func(b *testing.B) {
	return func(b *testing.B) {
		for b.Loop() {
			if _, err := parse(value); (err == nil) != ok {
				b.Fatalf("%q: error %v, want ok %v", value, err, ok)
			}
		}
	}
}
