package convert

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	for _, c := range []struct {
		name, data string
		opts       CSVOptions
		want       []string
	}{
		{"header", "a,b\n1,x\n", CSVOptions{}, []string{`{"a":1,"b":"x"}`}},
		{"order of columns", "z,a\n1,2\n", CSVOptions{}, []string{`{"z":1,"a":2}`}},
		{"no end of line", "a,b\r\n1,x\r\n2,y", CSVOptions{}, []string{`{"a":1,"b":"x"}`, `{"a":2,"b":"y"}`}},
		{"byte order mark", "\ufeffa\n1\n", CSVOptions{}, []string{`{"a":1}`}},
		{"empty lines", "\n\na\n\n1\r\n\r\n2\n\n", CSVOptions{}, []string{`{"a":1}`, `{"a":2}`}},
		{"quotes", "a,b\n\"x,\"\"y\"\"\n\",\"\"\r\n\"\",z\n", CSVOptions{}, []string{`{"a":"x,\"y\"\n","b":""}`, `{"a":"","b":"z"}`}},
		{"quotes inside", "a,b\n5\" disk,x\"y\"\n", CSVOptions{}, []string{`{"a":"5\" disk","b":"x\"y\""}`}},
		{"quotes in header", "\"a,b\",\"c\"\"d\"\n1,2\n", CSVOptions{}, []string{`{"a,b":1,"c\"d":2}`}},
		{"header only", "a,b\n", CSVOptions{}, nil},
		{"empty", "", CSVOptions{}, nil},
		{"no header", "1,x\n2,y\n", CSVOptions{NoHeader: true}, []string{`[1,"x"]`, `[2,"y"]`}},
		{"names", "1,x\n", CSVOptions{NoHeader: true, Columns: []string{"n", "s"}}, []string{`{"n":1,"s":"x"}`}},
		{"inferred", "i,f,m,b,t,zip,big,e\n-5,1.5,1,true,x,02134,99999999999999999999,\n7,-2e3,2.5,False,1,1,1,\n",
			CSVOptions{}, []string{
				`{"i":-5,"f":1.5,"m":1.0,"b":true,"t":"x","zip":"02134","big":"99999999999999999999","e":""}`,
				`{"i":7,"f":-2000.0,"m":2.5,"b":false,"t":"1","zip":"1","big":"1","e":""}`}},
		{"no digits", "f,g,i,t\n1.5,nan,1,nan\n-inf,,2,nancy\nNaN,Infinity,inf,3\n", CSVOptions{}, []string{
			`{"f":1.5,"g":"NaN","i":1.0,"t":"nan"}`, `{"f":"-Infinity","g":null,"i":2.0,"t":"nancy"}`, `{"f":"NaN","g":"Infinity","i":"Infinity","t":"3"}`}},
		{"missing", "a,b,c\n1,,x\n,2.5,\n", CSVOptions{}, []string{`{"a":1,"b":null,"c":"x"}`, `{"a":null,"b":2.5,"c":""}`}},
		{"null", "a,b\nNA,NA\n1,x\n", CSVOptions{Null: "NA"}, []string{`{"a":null,"b":null}`, `{"a":1,"b":"x"}`}},
		{"declared", "a,b,c,d,e\n1,2,3,0,x\n", CSVOptions{Types: map[string]Type{"a": TypeText, "2": TypeFloat, "c": TypeFloat32, "d": TypeBool, "e": TypeSkip}},
			[]string{`{"a":"1","b":2.0,"c":3.0,"d":false}`}},
		{"bytes", "a\n\xff\n", CSVOptions{Types: map[string]Type{"a": TypeBytes}}, []string{`{"a":"/w=="}`}},
		{"text", "a\n1\n", CSVOptions{Text: true}, []string{`{"a":"1"}`}},
		{"labels", "a,b,c\n1,2,3\n", CSVOptions{Labels: []string{"b"}}, []string{`[[1,3],[2]]`}},
		{"semicolon", "a;b\n1,5;2\n", CSVOptions{Comma: ';'}, []string{`{"a":"1,5","b":2}`}},
		{"blanks", "  1  2.5\t x\n3 4 \"y\n", CSVOptions{Comma: ' ', NoHeader: true}, []string{`[1,2.5,"x"]`, `[3,4.0,"\"y"]`}},
	} {
		got, _, err := payloads(t, Options{Format: "csv", CSV: c.opts, Encoding: Shown.Name}, memorySource("a", []byte(c.data)))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
	if got, err := asJSON(t, Options{}, "a.tsv", "a\tb,c\n1\t\"x\ty\"\n"); err != nil || !slices.Equal(got, []string{`{"a":1,"b,c":"x\ty"}`}) {
		t.Errorf("tsv: got %q, %v", got, err)
	}
}

func TestCSVErrors(t *testing.T) {
	for _, c := range []struct {
		data string
		opts CSVOptions
		want string
	}{
		{"a,b\n1,2\n3\n", CSVOptions{}, "a, line 3, offset 8: 1 column instead of 2"},
		{"a,b\n\"x\ny\",2\n3\n", CSVOptions{}, "a, line 4, offset 12: 1 column instead of 2"},
		{"a\n\"x\" y\n", CSVOptions{}, `a, line 2, offset 2: column 1: " " follows a closing quote`},
		{"a\n1\n\"x\n2\n", CSVOptions{}, "a, line 3, offset 4: column 1: a quote is opened and not closed"},
		{"a\n\"x\ny\n", CSVOptions{}, "a, line 2, offset 2: column 1: a quote is opened and not closed"},
		{"a\nx\xe9\n", CSVOptions{}, `a, line 2, offset 2: column 1 ("a") is not UTF-8: byte 0xe9 at position 2 of "x\xe9"; name its encoding, such as latin1; the payload raw takes any bytes, and the type bytes`},
		{"a\n1\n" + strings.Repeat("2\n", sampleRows) + "2.5\n", CSVOptions{},
			`a, line 1003, offset 2004: column 1 ("a"): "2.5" is not of type int, unlike the first 1000 rows; --type a=float accepts it`},
		{"1\n" + strings.Repeat("2\n", sampleRows) + "x\n", CSVOptions{NoHeader: true},
			`a, line 1002, offset 2002: column 1: "x" is not of type int, unlike the first 1000 rows; --type 1=text accepts it`},
		{"a\n1\n", CSVOptions{Types: map[string]Type{"b": TypeInt}}, `a: column "b": there are 1 ("a")`},
		{"a\n1\n", CSVOptions{Labels: []string{"2"}}, `a: column "2": there are 1 ("a")`},
		{"a,caf\xe9\n1,2\n", CSVOptions{}, `a: the header: column 2 is not UTF-8: byte 0xe9 at position 4 of "caf\xe9"; name its encoding, such as latin1; the payload raw takes any bytes`},
		{"a\xe9b\n1\xe92\n", CSVOptions{Comma: 0xe9}, `a: 'é' cannot separate columns: any ASCII character but a quote and the ends of lines can`},
		{"a\n1\n", CSVOptions{Comma: '"'}, `a: '"' cannot separate columns: any ASCII character but a quote and the ends of lines can`},
		{"\"a\n1\n", CSVOptions{}, "a: the header: column 1: a quote is opened and not closed"},
		{"a,b\r1,x\r2,y\r", CSVOptions{}, `a: its lines end with CR alone, which is no end of a line: tr '\r' '\n' makes it one`},
		{"a,b,b\n1,2,3\n", CSVOptions{}, `a: the header has two columns "b"`},
		{strings.Repeat("x", 200) + ",name\n1,2\n", CSVOptions{Labels: []string{"none"}},
			`a: column "none": there are 1 ("` + strings.Repeat("x", 40) + `"...), 2 ("name")`},
	} {
		_, err := asJSON(t, Options{Format: "csv", CSV: c.opts}, "a", c.data)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: got  %v\nwant %s", c.data, err, c.want)
		}
	}
}

// All inputs have the columns of the first.
func TestCSVInputs(t *testing.T) {
	a, empty := memorySource("a.csv", []byte("x,y\n1,2\n")), memorySource("empty.csv", []byte("x,y\n"))
	got, stats, err := payloads(t, Options{Encoding: "json"}, empty, a, memorySource("b.csv", []byte("x,y\n3,4\n")))
	if err != nil || !slices.Equal(got, []string{`{"x":1,"y":2}`, `{"x":3,"y":4}`}) {
		t.Errorf("got %q, %v", got, err)
	}
	if want := []Column{{Name: "x", Type: "int"}, {Name: "y", Type: "int"}}; !slices.Equal(stats.Columns, want) {
		t.Errorf("columns %v, want %v", stats.Columns, want)
	}
	_, _, err = payloads(t, Options{}, a, memorySource("c.csv", []byte("y,x\n3,4\n")))
	if want := "c.csv: its columns are y, x, those of the first input x, y"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// randomTable is a table as csv.Writer writes it, with quotes and newlines in cells, and its rows.
func randomTable(rnd *rand.Rand, rows int) (data []byte, want [][]string) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	parts := []string{"a", "\"", ",", "\n", " ", "é", "12", "\"\"", "x,y\n"}
	for range rows {
		row := []string{"k"} // so that no line is empty
		for range 3 {
			cell := ""
			for range rnd.IntN(5) {
				cell += parts[rnd.IntN(len(parts))]
			}
			row = append(row, cell)
		}
		w.Write(row)
		want = append(want, row)
	}
	w.Flush()
	return b.Bytes(), want
}

// Blocks are cut between rows, so that the rows do not depend on where they are cut.
func TestCSVBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		data, want := randomTable(rnd, 40)
		for _, size := range []int{8, 33, 100, 1 << 20} {
			table := newTable(Options{}, ',')
			b := &blockReader{r: bytes.NewReader(data), format: table, limit: 1 << 20, size: size}
			var got [][]string
			for {
				block, err := b.next(nil)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, tableRows(t, table, block)...)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("blocks of %d: got %q\nwant %q\nof %q", size, got, want, data)
			}
		}
	}
}

// A row, or the blank lines above the header, may be longer than a block: the columns are found
// anyway.
func TestCSVLongBeginning(t *testing.T) {
	long := strings.Repeat("x", 2*blockSize)
	for _, c := range []struct {
		name, data string
		opts       CSVOptions
		want       string
	}{
		{"row", "a,b\n1," + long + "\n2,y\n", CSVOptions{}, `{"a":1,"b":"` + long + `"} {"a":2,"b":"y"}`},
		{"header", "a," + long + "\n1,x\n", CSVOptions{}, `{"a":1,"` + long + `":"x"}`},
		{"blank lines", strings.Repeat("\n", 2*blockSize) + "a,b\n" + strings.Repeat("\n", 2*blockSize) + "1,x\n", CSVOptions{}, `{"a":1,"b":"x"}`},
		{"no header", strings.Repeat("\n", 2*blockSize) + "1," + long + "\n", CSVOptions{NoHeader: true}, `[1,"` + long + `"]`},
	} {
		got, err := asJSON(t, Options{Format: "csv", CSV: c.opts}, "a", c.data)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %.60q of %d records, %v", c.name, got, len(got), err)
		}
	}
}

// A header of very many columns is read in time proportional to them, and is not all of a message.
func TestCSVManyColumns(t *testing.T) {
	const columns = 300_000
	var header strings.Builder
	for i := range columns {
		fmt.Fprintf(&header, "c%d,", i)
	}
	_, err := asJSON(t, Options{Format: "csv", CSV: CSVOptions{Labels: []string{"none"}}}, "a", header.String()+"\n"+strings.Repeat(",", columns)+"\n")
	if got := messageOf(err); !strings.HasPrefix(got, `a: column "none": there are 1 ("c0"), 2 ("c1"), `) || !strings.HasSuffix(got, " more") || len(got) > 1000 {
		t.Errorf("got %d bytes: %.1000s", len(got), got)
	}
}

// Bad records wait for delivery in batches, as good ones do, although they are larger than their
// input.
func TestManyBadRecords(t *testing.T) {
	const bad = 100_000
	data := "a,b\n1,x\n" + strings.Repeat("1\n", bad) + "2,y\n"
	var last *RecordError
	got, stats, err := payloads(t, Options{Encoding: "json", Format: "csv", Bad: BadPolicy{Policy: Collect, Max: -1, Collect: func(b *RecordError, _ []byte) error {
		if last != nil && (b.Line != last.Line+1 || b.Offset != last.Offset+2) {
			t.Fatalf("%v after %v", b, last)
		}
		last = b
		return nil
	}}}, memorySource("a", []byte(data)))
	if err != nil || stats.Bad != bad || last.Line != bad+2 || !slices.Equal(got, []string{`{"a":1,"b":"x"}`, `{"a":2,"b":"y"}`}) {
		t.Errorf("got %q, %d bad, the last %v; %v", got, stats.Bad, last, err)
	}
	table, enc := newTable(Options{}, ','), Shown.New(Limits{}.withDefaults())
	skip, err := table.begin([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	records := newBlockRecords([]byte(data[skip:]), table.parser())
	for more, all := true, 0; more || all != bad; {
		b := &batch{}
		more = records.some(enc, b)
		if all += len(b.bad); len(b.bad) > mostAtOnce || !more && all != bad {
			t.Fatalf("%d bad records in a batch, %d so far", len(b.bad), all)
		}
	}
}

func tableRows(t *testing.T, table *table, block []byte) (rows [][]string) {
	t.Helper()
	f := table.fields()
	f.block(block)
	for {
		cells, _, _, err := f.row()
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatalf("%v in %q", err, block)
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = string(c)
		}
		rows = append(rows, row)
	}
}

// FuzzCSV compares the three ways through a table: cut, next and the parser see the same rows, and
// encoding/csv agrees if it accepts the table.
func FuzzCSV(f *testing.F) {
	data, _ := randomTable(rand.New(rand.NewPCG(1, 1)), 5)
	f.Add(data, byte(','))
	f.Add([]byte("a,b\n\"x\"\"\ny\",5\" z\n\n,\r\n\"a\"b\n1,\"2"), byte(','))
	f.Add([]byte(" 1  2\n3\t4\n"), byte(' '))
	f.Fuzz(func(t *testing.T, data []byte, comma byte) {
		if comma == '"' || comma == '\n' || comma == '\r' || comma == 0 {
			return
		}
		table := newTable(Options{CSV: CSVOptions{Comma: comma}}, ',')
		cut := table.cut(data)
		if whole, parts := rowEnds(table, data), append(rowEnds(table, data[:cut]), rowEnds(table, data[cut:])...); len(whole) != len(parts) {
			t.Fatalf("%d rows, and %d if it is cut at %d", len(whole), len(parts), cut)
		}
		got, good := fuzzRows(t, table, data)
		r := csv.NewReader(bytes.NewReader(data))
		r.Comma, r.FieldsPerRecord, r.ReuseRecord = rune(comma), -1, false
		want, err := r.ReadAll()
		plain := comma != ' ' && comma < 0x80 && !bytes.ContainsAny(data, "\r")
		if err == nil && plain && (!good || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want)) {
			t.Fatalf("got %q, want %q", got, want)
		}
		checkRun(t, Options{Format: "csv", CSV: CSVOptions{Comma: comma}}, data)
	})
}

// rowEnds returns how long each row of data is.
func rowEnds(t *table, data []byte) (ends []int) {
	for len(data) > 0 {
		n, _ := t.next(data)
		ends, data = append(ends, n), data[n:]
	}
	return ends
}

// TestCSVStrayQuotes skips bad rows: each costs only its first line, wherever the blocks are cut.
func TestCSVStrayQuotes(t *testing.T) {
	rows := func(n int) string { return strings.Repeat("1,x\n", n) }
	for _, c := range []struct {
		name, data string
		records    int
		line       int64
		want       string
	}{
		{"not closed", "a,b\n" + rows(3) + "7,\"x\n" + rows(5), 8, 5, "column 2: a quote is opened and not closed"},
		{"not closed, last", "a,b\n" + rows(3) + "7,\"x", 3, 5, "column 2: a quote is opened and not closed"},
		{"closed by the next", "a,b\n7,\"x\n7,\"y\"\n" + rows(2), 3, 2, `column 2: "y" follows a closing quote`},
		{"text behind", "a,b\n1,\"x\" y\n" + rows(2), 2, 2, `column 2: " " follows a closing quote`},
		{"in a cell of two lines", "a,b\n\"1\n2\",\"x\" y\n" + rows(2), 2, 2, `column 2: " " follows a closing quote`},
		{"many lines", "a,b\n1,x\n7,\"x\n" + rows(2*maxCellLines) + "1,\"x\"\n" + rows(2), 2*maxCellLines + 4, 3,
			fmt.Sprintf("column 2: a quote is opened and not closed within %d lines", maxCellLines)},
		{"long lines", "a,b\n7,\"x\n" + strings.Repeat("1,"+strings.Repeat("x", 100)+"\n", 500), 500, 2,
			"column 2: a quote is opened and not closed within the limit of 1000 bytes"},
	} {
		for _, encoding := range []string{"json", "raw"} {
			got, stats, err := payloads(t, Options{Encoding: encoding, Format: "csv", CSV: CSVOptions{Types: map[string]Type{"1": TypeText}},
				Bad: BadPolicy{Policy: Skip}, Limits: Limits{Record: 1000}}, memorySource("a", []byte(c.data)))
			if c.name == "in a cell of two lines" { // its second line is a bad row, too
				if err != nil || len(got) != c.records || stats.Bad != 2 {
					t.Errorf("%s, %s: %d records, %d bad (%v)", c.name, encoding, len(got), stats.Bad, err)
				}
				continue
			}
			if err != nil || len(got) != c.records || stats.Bad != 1 {
				t.Errorf("%s, %s: %d records (want %d), %d bad, %v", c.name, encoding, len(got), c.records, stats.Bad, err)
				continue
			}
			if bad := stats.FirstBad[0]; bad.Line != c.line || !strings.HasSuffix(c.want, bad.Err.Error()) {
				t.Errorf("%s, %s: got line %d, %v; want %d, %s", c.name, encoding, bad.Line, bad.Err, c.line, c.want)
			}
		}
	}
}

// fuzzRows returns the rows of data; not good if one of them is bad.
func fuzzRows(t *testing.T, table *table, data []byte) (rows [][]string, good bool) {
	f := table.fields()
	f.block(data)
	good = true
	for last := 0; ; {
		cells, start, end, err := f.row()
		if err == io.EOF {
			return rows, good
		}
		if start < last || end <= start || end > len(data) {
			t.Fatalf("a row at %d to %d behind one that ends at %d", start, end, last)
		}
		last = end
		if n, bad := table.next(data[start:]); n != end-start || (bad == nil) != (err == nil) {
			t.Fatalf("the row at %d ends at %d (%v), and is cut at %d (%v)", start, end, err, start+n, bad)
		}
		if err != nil {
			good = false
			continue
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = string(c)
		}
		rows = append(rows, row)
	}
}

// checkRun runs data through every encoding: nothing but the known kinds of errors may come out.
func checkRun(t *testing.T, opts Options, data []byte) {
	t.Helper()
	opts.Jobs, opts.Bad, opts.Limits = 1, BadPolicy{Policy: Skip, Max: -1}, Limits{Record: 1 << 16, Depth: 16}
	for _, e := range Encodings {
		opts.Encoding = e.Name
		_, err := Run(t.Context(), oneSource("x", data), opts, func(p []byte) error {
			if len(p) > 1<<16 {
				t.Fatalf("a payload of %d bytes", len(p))
			}
			return nil
		})
		if err != nil && !knownKind(err) {
			t.Fatalf("%s: %v", e.Name, err)
		}
	}
}

func knownKind(err error) bool {
	for _, kind := range []error{ErrSyntax, ErrTruncated, ErrChecksum, ErrLimit, ErrUnsupported} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func TestLastNewline(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		p := make([]byte, rnd.IntN(40))
		for i := range p {
			p[i] = "\n\x0b\x8a\x09a\x00\xff\x0a\xf5"[rnd.IntN(9)]
			if rnd.IntN(3) > 0 {
				p[i] = byte(rnd.IntN(256))
			}
		}
		if got, want := lastNewline(p), bytes.LastIndexByte(p, '\n'); got != want {
			t.Fatalf("%q: %d, want %d", p, got, want)
		}
	}
}

// TestOtherDelimiter reads tables with another separator than their name implies.
func TestOtherDelimiter(t *testing.T) {
	for _, c := range []struct {
		name, data string
		opts       Options
		want       string
	}{
		{"a.csv", "id;name\n1;a\n", Options{}, `its columns are separated by ';', not by ',': name the delimiter`},
		{"a.csv", "id;x\n1;1,5\n", Options{}, `its columns are separated by ';', not by ',': name the delimiter`},
		{"a.csv", "id\tname\n1\ta\n\tb\n", Options{}, `its columns are separated by '\t', not by ',': name the delimiter`},
		{"a.csv", "1|2\n3|4\n", Options{CSV: CSVOptions{NoHeader: true}}, `its columns are separated by '|', not by ',': name the delimiter`},
		{"a.tsv", "a,b\n1,2\n", Options{}, `its columns are separated by ',', not by '\t': name the delimiter`},
		{"a.csv", "id;name\n1;a\n", Options{CSV: CSVOptions{Comma: ';'}}, ""},
		{"a.csv", "id;name\n1;a\n", Options{CSV: CSVOptions{Comma: ','}}, ""},
		{"a.csv", "text\na; b\nc\n", Options{}, ""},
		{"a.csv", "text\n\"a; b\"\n", Options{}, ""},
		{"a.csv", "a;b,c\n1;2,3\n", Options{}, ""},
		{"a.csv", "id;name\n1;a\n", Options{Encoding: "raw"}, ""},
	} {
		_, _, err := payloads(t, c.opts, memorySource(c.name, []byte(c.data)))
		if want := c.want; want != "" && messageOf(err) != c.name+": "+want || want == "" && err != nil {
			t.Errorf("%q: got %v, want %s", c.data, err, want)
		}
		if c.want != "" && !errors.Is(err, ErrDelimiter) {
			t.Errorf("%q: %v is no ErrDelimiter", c.data, err)
		}
	}
}
