package convert

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// parseFloat gives the bits that strconv gives.
func TestParseFloat(t *testing.T) {
	texts := []string{"0", "-0", "1", "-1.5", "+2", ".5", "5.", "0.1", "123456789012345678", "9007199254740993",
		"1e22", "1e23", "1.7976931348623157e308", "5e-324", "0.000000000000000000000001", "12345678901234567890123",
		"99999999999999999999.9", "0.30000000000000004"}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		texts = append(texts, strconv.FormatFloat(rnd.NormFloat64()*math.Pow10(rnd.IntN(30)-15), 'f', rnd.IntN(12), 64),
			fmt.Sprint(math.Float64frombits(rnd.Uint64()&^(1<<62))))
	}
	for _, text := range texts {
		got, ok := parseFloat([]byte(text))
		want, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: got %v, %v; want %v, %v", text, got, ok, want, err)
		}
	}
	for _, text := range []string{"", "-", "+", ".", "-.", "e1", "1e", "1.2.3", "0x10", "1_000", "inf", "NaN", "1e999", "1 ", " 1", "1,5"} {
		if got, ok := parseFloat([]byte(text)); ok {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// parseFloat and parseInt read words, so the bytes around a number must not matter. strconv accepts
// and refuses the same texts.
func TestNumbersAmongOthers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 300000 {
		text := make([]byte, rnd.IntN(11))
		for i := range text {
			text[i] = "01234567899.+-e:/ \x00\xb1"[rnd.IntN(10+rnd.IntN(1+rnd.IntN(11)))]
		}
		want, err := strconv.ParseFloat(string(text), 64)
		wantInt, noInt := strconv.ParseInt(string(text), 10, 64)
		for _, behind := range []string{"", "7", "12345678", ".5,-3.25\n", ",\xff\xff\xff\xff\xff\xff\xff\xff"} {
			around := slices.Concat([]byte("98"), text, []byte(behind))
			got, ok := parseFloat(slices.Clip(around)[2 : 2+len(text)])
			if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%q before %q: got %v, %v; want %v, %v", text, behind, got, ok, want, err)
			}
			i, ok := parseInt(slices.Clip(around)[2 : 2+len(text)])
			if ok != (noInt == nil) || ok && i != wantInt {
				t.Fatalf("%q before %q: got %v, %v; want %v, %v", text, behind, i, ok, wantInt, noInt)
			}
		}
	}
}

func TestParseInt(t *testing.T) {
	for _, text := range []string{"0", "-1", "+7", "9223372036854775807", "-9223372036854775808", "007"} {
		got, ok := parseInt([]byte(text))
		if want, err := strconv.ParseInt(text, 10, 64); !ok || err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", "+", "1.0", "9223372036854775808", "-9223372036854775809", "99999999999999999999", "1a"} {
		if got, ok := parseInt([]byte(text)); ok {
			t.Errorf("%q: got %d", text, got)
		}
	}
}
