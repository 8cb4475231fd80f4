// Package hadooptoken encodes delegation tokens, and the files that hold them, as Hadoop does (org.apache.hadoop.io,
// org.apache.hadoop.security).
package hadooptoken

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// Token is a delegation token.
type Token struct {
	Identifier []byte // an encoded Identifier
	Password   []byte // the secret
	Kind       string
	Service    string // the address for which Hadoop's programs use it
}

// The kinds of tokens: of NameNodes, and of WebHDFS without and with TLS.
const (
	HDFS     = "HDFS_DELEGATION_TOKEN"
	WebHDFS  = "WEBHDFS delegation"
	SWebHDFS = "SWEBHDFS delegation"
)

// Identifier tells whom a token stands for. It is not secret.
type Identifier struct {
	Owner, Renewer, RealUser string
	Issued, Max              time.Time
	Sequence, Key            int64
}

// URL returns the token as Token.encodeToUrlString of Hadoop.
func (t Token) URL() string { return base64.RawURLEncoding.EncodeToString(t.append(nil)) }

// ParseURL decodes the result of URL.
func ParseURL(s string) (Token, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Token{}, fmt.Errorf("not a delegation token: %w", err)
	}
	d := decoder{rest: b}
	t := d.token()
	if len(d.rest) > 0 {
		d.fail()
	}
	return t, d.err
}

func (t Token) append(b []byte) []byte {
	b = appendBytes(b, t.Identifier)
	b = appendBytes(b, t.Password)
	b = appendBytes(b, []byte(t.Kind))
	return appendBytes(b, []byte(t.Service))
}

// Encode returns the identifier as AbstractDelegationTokenIdentifier of Hadoop.
func (i Identifier) Encode() []byte {
	b := []byte{0} // version
	for _, s := range []string{i.Owner, i.Renewer, i.RealUser} {
		b = appendBytes(b, []byte(s))
	}
	for _, n := range []int64{i.Issued.UnixMilli(), i.Max.UnixMilli(), i.Sequence, i.Key} {
		b = appendLong(b, n)
	}
	return b
}

// ParseIdentifier decodes the result of Encode.
func ParseIdentifier(b []byte) (Identifier, error) {
	d := decoder{rest: b}
	if d.byte() != 0 {
		d.fail()
	}
	i := Identifier{Owner: string(d.bytes()), Renewer: string(d.bytes()), RealUser: string(d.bytes())}
	i.Issued, i.Max = time.UnixMilli(d.long()), time.UnixMilli(d.long())
	i.Sequence, i.Key = d.long(), d.long()
	if len(d.rest) > 0 {
		d.fail()
	}
	return i, d.err
}

// File returns the content of a file for HADOOP_TOKEN_FILE_LOCATION with the tokens, each under its service.
func File(tokens []Token) []byte {
	b := append([]byte("HDTS"), 0) // version 0
	b = appendLong(b, int64(len(tokens)))
	for _, t := range tokens {
		b = appendBytes(b, []byte(t.Service))
		b = t.append(b)
	}
	return appendLong(b, 0) // secret keys
}

// ParseFile returns the tokens of such a file.
func ParseFile(b []byte) (all []Token, err error) {
	rest, ok := bytes.CutPrefix(b, []byte("HDTS\x00"))
	if !ok {
		return nil, errors.New("it is no file of delegation tokens of version 0, as hdfs fetchdt writes it")
	}
	d := decoder{rest: rest}
	for n := d.long(); n > 0 && d.err == nil; n-- {
		d.bytes() // the service again
		all = append(all, d.token())
	}
	return all, d.err
}

// appendLong appends n as WritableUtils.writeVLong.
func appendLong(b []byte, n int64) []byte {
	if n >= -112 && n <= 127 {
		return append(b, byte(n))
	}
	first := int8(-112)
	if n < 0 {
		n, first = ^n, -120
	}
	size := 0
	for m := n; m != 0; m >>= 8 {
		size++
	}
	b = append(b, byte(first-int8(size)))
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

func appendBytes(b, p []byte) []byte { return append(appendLong(b, int64(len(p))), p...) }

// decoder reads what is encoded. After an error it returns zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail() {
	d.rest = nil
	if d.err == nil {
		d.err = errors.New("not a delegation token: it is cut or damaged")
	}
}

func (d *decoder) token() Token {
	return Token{Identifier: d.bytes(), Password: d.bytes(), Kind: string(d.bytes()), Service: string(d.bytes())}
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) long() int64 {
	first := int8(d.byte())
	if first >= -112 {
		return int64(first)
	}
	size, negative := int(-113-first)+1, false
	if first < -120 {
		size, negative = int(-121-first)+1, true
	}
	var n int64
	for range size {
		n = n<<8 | int64(d.byte())
	}
	if negative {
		n = ^n
	}
	return n
}

func (d *decoder) bytes() []byte {
	n := d.long()
	if n < 0 || n > int64(len(d.rest)) {
		d.fail()
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}
