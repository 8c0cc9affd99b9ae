package adapters

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestClients prints a table: for each client, alone and with its adapter, the wait
// before the second request. Each cell is from 300 calls that one client makes at the
// same time, to a server that refuses each of them once.
//
// In the column "Age: 20" a cache has held the refusal for 20 s, so that a wait of 30 s is
// longer than necessary. In the column "budget" the server asks for two hours, and the
// context of the caller ends after five seconds. The last column is the number of
// milliseconds in which a second request arrived.
func TestClients(t *testing.T) {
	goMod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	columns := []struct {
		name   string
		width  int
		header func(time.Time) http.Header
		cell   func([]result) cell
	}{
		{"right", 9, dateIn30s(0), secondRequest},
		{"1h ahead", 11, dateIn30s(-time.Hour), secondRequest},
		{"1h behind", 11, dateIn30s(time.Hour), secondRequest},
		{"Age: 20", 9, aged, secondRequest},
		{"18446744074", 13, fields("18446744074"), secondRequest},
		{"budget", 9, fields("7200"), secondRequest},
		{"of 300", 10, fields("30"), instants},
	}

	var table strings.Builder
	fmt.Fprintf(&table, "%-26s%31s%9s%13s%9s%10s\n%26s", "",
		"a date, client's clock", "30 s,", "", "2 h, 5 s", "instants", "")
	for _, column := range columns {
		fmt.Fprintf(&table, "%*s", column.width, column.name)
	}
	for _, w := range ways {
		version := regexp.MustCompile(regexp.QuoteMeta(w.module) + ` (v\S+)`).FindSubmatch(goMod)
		client := w.client + " " + string(version[1])
		if w.with == "alone" {
			fmt.Fprintf(&table, "\n%-26s", client)
		} else {
			fmt.Fprintf(&table, "\n  %-24s", w.with)
		}
		for i, column := range columns {
			t.Run(client+" "+w.with+"/"+column.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(500 * time.Millisecond) // so that dates are rounded down
					server := refusing(1, column.header)
					s, ctx := setup{base: server, maximum: day}, t.Context()
					if column.name == "budget" {
						s.maximum = 0
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, 5*time.Second)
						defer cancel()
					}
					cell := column.cell(server.doAll(ctx, w.start(s), 300))
					fmt.Fprintf(&table, "%*s", column.width, cell)
					if !cell.is(w.row[i]) {
						t.Errorf("got %v (%v to %v), want %s", cell, cell.least, cell.most, w.row[i])
					}
				})
			})
		}
	}
	t.Log("Seconds until the second request, or when the caller gets an error instead:\n" +
		table.String())
}

// A cell of the table is a text, or if that is empty, numbers from least to most. It
// prints a range to half seconds, or to tenths below 10 s, least down and most up.
type cell struct {
	text        string
	least, most float64
}

func (c cell) String() string {
	if c.text != "" {
		return c.text
	}
	if c.least == c.most {
		return strconv.FormatFloat(math.Round(10*c.least)/10, 'f', -1, 64)
	}
	perSecond := 10.0
	if c.least >= 10 {
		perSecond = 2
	}
	return strconv.FormatFloat(math.Floor(perSecond*c.least)/perSecond, 'f', -1, 64) + "-" +
		strconv.FormatFloat(math.Ceil(perSecond*c.most)/perSecond, 'f', -1, 64)
}

// is reports whether the cell has the text want, or is within want, such as "30-37.5".
func (c cell) is(want string) bool {
	first, last, found := strings.Cut(want, "-")
	if !found {
		last = first
	}
	least, err1 := strconv.ParseFloat(first, 64)
	most, err2 := strconv.ParseFloat(last, 64)
	if err1 != nil || err2 != nil {
		return c.text == want
	}
	return c.text == "" && least <= c.least && c.most <= most
}

// secondRequest returns the shortest and the longest wait before the second request, in
// seconds. If there was no second request, it returns when the calls ended.
func secondRequest(results []result) cell {
	var waits []float64
	for _, r := range results {
		switch {
		case len(r.waits) > 0:
			waits = append(waits, r.waits[0].Seconds())
		case r.took > day:
			return cell{text: "> 1 day"}
		case r.took > 0:
			return cell{text: fmt.Sprintf("at %v s", r.took.Seconds())}
		default:
			return cell{text: "at once"}
		}
	}
	return cell{least: slices.Min(waits), most: slices.Max(waits)}
}

// instants returns in how many different milliseconds a second request arrived.
func instants(results []result) cell {
	arrived := map[time.Duration]bool{}
	for _, r := range results {
		if len(r.waits) > 0 {
			arrived[r.waits[0].Truncate(time.Millisecond)] = true
		}
	}
	return cell{least: float64(len(arrived)), most: float64(len(arrived))}
}
