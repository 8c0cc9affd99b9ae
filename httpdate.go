package retryafter

import (
	"strings"
	"time"
)

// parseHTTPDate reads an HTTP-date, RFC 9110 §5.6.7. The byte after the first
// three tells the forms apart:
//
//	Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate, the form to send
//	Sun Nov  6 08:49:37 1994          asctime, obsolete
//	Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
//
// Its errors are the bare sentinels. The shape decides first: a value of
// another shape is ErrDateSyntax, whatever else is wrong with it.
func parseHTTPDate(s string) (time.Time, error) {
	switch {
	case len(s) > 3 && s[3] == ',':
		return parseIMFFixdate(s)
	case len(s) > 3 && s[3] == ' ':
		return parseAsctime(s)
	}
	return parseRFC850(s)
}

func parseIMFFixdate(s string) (time.Time, error) {
	const form = "Sun, 06 Nov 1994 08:49:37"
	if len(s) < len(form) || s[4] != ' ' || s[7] != ' ' || s[11] != ' ' || s[16] != ' ' || s[19] != ':' || s[22] != ':' {
		return time.Time{}, ErrDateSyntax
	}
	d := httpDate{
		dayName: s[0:3],               // Sun
		day:     twoDigits(s[5:7]),    // 06
		month:   s[8:11],              // Nov
		year:    fourDigits(s[12:16]), // 1994
		hour:    twoDigits(s[17:19]),  // 08
		minute:  twoDigits(s[20:22]),  // 49
		second:  twoDigits(s[23:25]),  // 37
		zone:    s[25:],
	}
	return d.time()
}

func parseAsctime(s string) (time.Time, error) {
	const form = "Sun Nov  6 08:49:37 1994"
	if len(s) != len(form) || s[7] != ' ' || s[10] != ' ' || s[13] != ':' || s[16] != ':' || s[19] != ' ' {
		return time.Time{}, ErrDateSyntax
	}
	d := httpDate{
		dayName: s[0:3],               // Sun
		month:   s[4:7],               // Nov
		day:     twoDigits(s[8:10]),   // 06, rarely
		hour:    twoDigits(s[11:13]),  // 08
		minute:  twoDigits(s[14:16]),  // 49
		second:  twoDigits(s[17:19]),  // 37
		year:    fourDigits(s[20:24]), // 1994
		zone:    gmt,                  // meant, never written
	}
	if s[8] == ' ' {
		d.day = digit(s[9]) // 6, after the blank
	}
	return d.time()
}

func parseRFC850(s string) (time.Time, error) {
	const form = ", 06-Nov-94 08:49:37"
	dayName, _, _ := strings.Cut(s, ",")
	s = s[len(dayName):]
	if len(s) < len(form) || s[1] != ' ' || s[4] != '-' || s[8] != '-' || s[11] != ' ' || s[14] != ':' || s[17] != ':' {
		return time.Time{}, ErrDateSyntax
	}
	if !isLongDayName(dayName) {
		return time.Time{}, nameFault(dayName)
	}
	d := httpDate{
		dayName: dayName[:3],         // Sun, of Sunday
		day:     twoDigits(s[2:4]),   // 06
		month:   s[5:8],              // Nov
		year:    twoDigits(s[9:11]),  // 94
		hour:    twoDigits(s[12:14]), // 08
		minute:  twoDigits(s[15:17]), // 49
		second:  twoDigits(s[18:20]), // 37
		zone:    s[20:],
	}
	if d.year < 0 {
		return time.Time{}, ErrDateSyntax
	}
	// RFC 9110 reads the two digits by the recipient's clock, which is the very
	// thing not to rely on. The day name tells as much: 100 years are 5 or 6 days
	// more than whole weeks, so no date has the same day name in both centuries.
	d.year += 2000
	t, err := d.time()
	if err != nil {
		d.year -= 100
		if t, err := d.time(); err == nil {
			return t, nil
		}
	}
	// Every day of 19yy is one of 20yy as well, since 2000 was a leap year and
	// 1900 was not. So the fault found in 20yy is the one to report.
	return t, err
}

// httpDate is an HTTP-date taken apart by its shape, its values still unchecked.
type httpDate struct {
	dayName string // three bytes
	month   string // three bytes
	year    int    // these five: negative where a byte is not a digit
	day     int
	hour    int
	minute  int
	second  int
	zone    string // what follows the time of day, blank included
}

const (
	gmt = " GMT"

	// lastUnix is 31 Dec 9999 23:59:59, the last second that a date with a
	// four-digit year can write.
	lastUnix = 253402300799
)

// time checks the values against the calendar and returns the instant, in UTC.
func (d *httpDate) time() (time.Time, error) {
	if d.year|d.day|d.hour|d.minute|d.second < 0 {
		return time.Time{}, ErrDateSyntax
	}
	if d.zone != gmt {
		return time.Time{}, zoneFault(d.zone)
	}
	month := monthNumber(d.month)
	if month == 0 {
		return time.Time{}, nameFault(d.month)
	}
	if d.day < 1 || d.day > daysIn(month, d.year) {
		return time.Time{}, ErrNoSuchDay
	}
	// A leap second is inserted at the end of a UTC day (RFC 9110's second is
	// 00 to 60), and this arithmetic lets it roll into the next one.
	leap := d.hour == 23 && d.minute == 59 && d.second == 60
	if d.hour > 23 || d.minute > 59 || d.second > 59 && !leap {
		return time.Time{}, ErrTimeOfDay
	}
	day := dayNumber(d.year, month, d.day)
	if dayName(day) != d.dayName {
		if !isDayName(d.dayName) {
			return time.Time{}, nameFault(d.dayName)
		}
		return time.Time{}, ErrDayNameMismatch
	}
	unix := int64(day-unixEpoch)*86400 + int64(d.hour*3600+d.minute*60+d.second)
	if unix > lastUnix {
		return time.Time{}, ErrTimeOfDay
	}
	return time.Unix(unix, 0).UTC(), nil
}

// zoneFault tells a wrong or missing zone from a value that is no date at all:
// it is the zone where one word, or nothing, stands in its place.
func zoneFault(zone string) error {
	if zone == "" || zone[0] == ' ' && !strings.ContainsAny(zone[1:], " \t") {
		return ErrNonGMTZone
	}
	return ErrDateSyntax
}

// nameFault tells a name that is not in the grammar from bytes that are no name.
func nameFault(name string) error {
	if leadingLetters(name) == len(name) {
		return ErrDateName
	}
	return ErrDateSyntax
}

// monthNumber is 0 for a name that is not a month's; case-sensitive, as all of
// HTTP-date is.
func monthNumber(name string) int {
	switch name {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return 0
}

func daysIn(month, year int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// dayNumber counts days, up to unixEpoch on 1 January 1970. Its years start in
// March, so that the leap day comes last and the months before a month need no
// exception: (153m-457)/5 is 0, 31, 61, 92, ... for March, April, May, June, ...
// time.Date would do as well, at the cost of all the rest of the date together.
func dayNumber(year, month, day int) int {
	if month < 3 {
		year--
		month += 12
	}
	year += 400 // a whole cycle of the calendar: January of the year 0 is in the year -1
	return 365*year + year/4 - year/100 + year/400 + (153*month-457)/5 + day
}

const unixEpoch = 865566 // dayNumber(1970, 1, 1), a Thursday

// dayName is the short name of a day: Thu for unixEpoch.
func dayName(dayNumber int) string {
	return time.Weekday((dayNumber + 2) % 7).String()[:3]
}

func isDayName(s string) bool {
	for n := range 7 {
		if dayName(n) == s {
			return true
		}
	}
	return false
}

func isLongDayName(s string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if d.String() == s {
			return true
		}
	}
	return false
}

// digit returns the value of DIGIT, and -1 of any other byte.
func digit(c byte) int {
	if c < '0' || c > '9' {
		return -1
	}
	return int(c - '0')
}

// twoDigits returns the value of 2DIGIT, and -1 where either byte is not a digit.
func twoDigits(s string) int {
	tens, units := digit(s[0]), digit(s[1])
	if tens < 0 || units < 0 {
		return -1
	}
	return 10*tens + units
}

func fourDigits(s string) int {
	hundreds, rest := twoDigits(s[:2]), twoDigits(s[2:])
	if hundreds < 0 || rest < 0 {
		return -1
	}
	return 100*hundreds + rest
}

// leadingLetters counts the ASCII letters that s begins with.
func leadingLetters(s string) int {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' { // 0x20: either case
			return i
		}
	}
	return len(s)
}
