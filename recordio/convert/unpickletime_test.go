package convert

import (
	"fmt"
	"strings"
	"testing"
)

// Times of every protocol become numbers, and their types columns.
func TestUnpickleTimes(t *testing.T) {
	want := []string{
		`{"d":null,"t":86398999999,"w":1495612365123456,"u":1495612365123456,"z":1495624965123456,"s":-86394999994,"n":1,"m":"1.50"}`,
		`{"d":-2,"t":null,"w":-62135596800000000,"u":null,"z":null,"s":8640000000000,"n":null,"m":null}`,
	}
	const types = "[d date, t time[us], w timestamp[us], u timestamp[us,UTC], z timestamp[us,-03:30], s duration[us], n int, m decimal]"
	for protocol := range 6 {
		data := readFile(t, fmt.Sprintf("testdata/pickle/times-%d.pickle", protocol))
		got, stats, err := payloads(t, Options{Encoding: "json"}, memorySource("a.pickle", data), memorySource("b.pickle", data))
		if err != nil || strings.Join(got[:2], "\n") != strings.Join(want, "\n") || typesOf(stats) != types {
			t.Errorf("protocol %d: %q, %v, %s", protocol, got, err, typesOf(stats))
		}
		if text := fmt.Sprint(stats.Notes); !strings.Contains(text, "d: a value of type date becomes a number") {
			t.Errorf("protocol %d: notes %s", protocol, text)
		}
	}
}

func typesOf(stats Stats) string {
	list := []string{}
	for _, c := range stats.Columns {
		list = append(list, strings.TrimSpace(c.Name+" "+c.Type))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

const (
	aDate  = "cdatetime\ndate\n(S'\\x07\\xe1\\x05\\x18'\ntR" // as Python 2 writes it
	aClock = "cdatetime\ntime\n(S'\\x01\\x02\\x03\\x00\\x00\\x04'\ntR"
	aDay   = "cdatetime\ntimedelta\n(I1\nI0\nI0\ntR"
)

// Columns are those that all samples of all inputs have; without times there are none.
func TestUnpickleTimeColumns(t *testing.T) {
	list := func(items ...string) string { return "(l" + strings.Join(items, "a") + "a." }
	pair := func(a, b string) string { return "(" + a + b + "t" }
	for name, tt := range map[string]struct {
		inputs []string
		want   string
	}{
		"dates":               {[]string{list(aDate, aDate)}, "[date]"},
		"nothing and a date":  {[]string{list("N", aDate)}, "[date]"},
		"pairs":               {[]string{list(pair(aDate, "I1\n"), pair("N", "N"))}, "[date, int]"},
		"no times":            {[]string{list(pair("I1\n", "I1\n"))}, "[]"},
		"list of one":         {[]string{list("(" + aDate + "t")}, "[]"},
		"other values":        {[]string{list(pair(aDate, "(l"))}, "[]"},
		"two kinds":           {[]string{list(aDate, aClock)}, "[]"},
		"two kinds, two":      {[]string{list(aDate), list(aClock)}, "[]"},
		"two kinds and again": {[]string{list(aDate), list(aClock), list(aDate)}, "[]"},
		"none, then dates":    {[]string{list("(l"), list(aDate)}, "[]"},
		"empty, then dates":   {[]string{"(l.", list(aDate)}, "[date]"},
		"dates and numbers":   {[]string{list(aDate, "I1\n")}, "[]"},
	} {
		var sources []Source
		for _, data := range tt.inputs {
			sources = append(sources, memorySource("x", []byte(data)))
		}
		_, stats, err := payloads(t, Options{Format: "pickle", Encoding: "json"}, sources...)
		if err != nil || typesOf(stats) != tt.want {
			t.Errorf("%s: %s, %v; want %s", name, typesOf(stats), err, tt.want)
		}
	}
}

func TestUnpickleTimeErrors(t *testing.T) {
	for data, want := range map[string]string{
		"cdatetime\ndate\n(tR.":                                                             "date with invalid arguments",
		"cdatetime\ndate\n(I1\ntR.":                                                         "date with invalid arguments",
		"cdatetime\ndate\n(S'\\x07\\xe1\\x0d\\x18'\ntR.":                                    "date with invalid arguments",
		"cdatetime\ndate\n(S'\\x07\\xe1\\x02\\x1e'\ntR.":                                    "date with invalid arguments",
		"cdatetime\ntime\n(S'\\x19\\x00\\x00\\x00\\x00\\x00'\ntR.":                          "time with invalid arguments",
		"cdatetime\ntime\n(S'000000'\nNtR.":                                                 "a time of day with a zone",
		"cdatetime\ndatetime\n(S'x'\ntR.":                                                   "datetime with invalid arguments",
		"cdatetime\ndatetime\n(S'\\x07\\xe1\\x05\\x18\\x00\\x00\\x00\\x00\\x00\\x00'\nNtR.": "datetime with invalid arguments",
		"cdatetime\ntimedelta\n(I1\nI86400\ntR.":                                            "timedelta with invalid arguments",
		"cdatetime\ntimedelta\n(I999999999\ntR.":                                            "a timedelta of 999999999 days; at most 100000000 fit",
		"cdatetime\ntimedelta\n(I1\nI1\nI1\nI1\ntR.":                                        "timedelta with invalid arguments",
		"cdatetime\ntimezone\n(" + aDay + "tR.":                                             "timezone with invalid arguments",
		"cdatetime\ntimezone\n(" + aDate + "tR.":                                            "timezone with invalid arguments",
		"cdatetime\ntimezone\n(cdatetime\ntimedelta\n(I0\nI1\ntRtR.":                        "a timezone of 1s; only whole minutes",
		"cdatetime\ntimezone\n(cdatetime\ntimedelta\n(I0\nI60\ntRtR.":                       "a class of Python, which is not data",
	} {
		_, _, err := payloads(t, Options{Format: "pickle"}, memorySource("x", []byte(data)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", data, err, want)
		}
	}
}
