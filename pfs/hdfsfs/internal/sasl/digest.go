package sasl

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// digest is the mechanism DIGEST-MD5.
type digest struct {
	user     string
	password []byte
	uri      string
	qops     []QOP
	cnonce   string

	qop       QOP
	cipher    string
	maxBuffer int
	a1        [md5.Size]byte // H(A1)
	want      string         // the proof of the server
	done      bool
}

// NewDigestMD5 returns the mechanism DIGEST-MD5 for a service, protocol/server. The server's realm
// is accepted. Earlier qops are preferred.
func NewDigestMD5(user string, password []byte, protocol, server string, qops []QOP) Mechanism {
	nonce := make([]byte, 24)
	_, _ = rand.Read(nonce) // it never fails
	return &digest{user: user, password: password, uri: protocol + "/" + server, qops: qops, cnonce: base64.StdEncoding.EncodeToString(nonce)}
}

func (d *digest) Start(challenge []byte) ([]byte, error) {
	if len(challenge) == 0 {
		return []byte{}, nil // the server speaks first
	}
	return d.Next(challenge)
}

func (d *digest) Next(challenge []byte) ([]byte, error) {
	switch {
	case d.done:
		return nil, errors.New("DIGEST-MD5: a challenge after the end")
	case d.want != "":
		return nil, d.verify(challenge)
	}
	c, err := parseChallenge(challenge)
	if err != nil {
		return nil, fmt.Errorf("DIGEST-MD5: the challenge is wrong: %w", err)
	}
	if d.qop, err = choose(d.qops, c.qops); err != nil {
		return nil, fmt.Errorf("DIGEST-MD5: %w", err)
	}
	if d.qop == AuthConf {
		if d.cipher, err = chooseCipher(c.ciphers); err != nil {
			return nil, fmt.Errorf("DIGEST-MD5: %w", err)
		}
	}
	return d.respond(c), nil
}

// respond returns the response to the first challenge.
func (d *digest) respond(c challenge) []byte {
	d.maxBuffer = c.maxBuffer
	secret := md5.New()
	secret.Write(encode(d.user, c.utf8))
	secret.Write([]byte(":" + string(encode(c.realm, c.utf8)) + ":"))
	secret.Write(d.password)
	d.a1 = md5.Sum(append(secret.Sum(nil), ":"+c.nonce+":"+d.cnonce...))
	proof := func(method string) string {
		a2 := method + ":" + d.uri
		if d.qop != Auth {
			a2 += ":00000000000000000000000000000000"
		}
		return hexHash(hex.EncodeToString(d.a1[:]) + ":" + c.nonce + ":00000001:" + d.cnonce + ":" + d.qop.String() + ":" + hexHash(a2))
	}
	d.want = proof("")
	response := ""
	if c.utf8 {
		response = "charset=utf-8,"
	}
	response += "username=" + quote(d.user) + ",realm=" + quote(c.realm) + ",nonce=" + quote(c.nonce) + ",nc=00000001,cnonce=" + quote(d.cnonce) +
		",digest-uri=" + quote(d.uri) + fmt.Sprintf(",maxbuf=%d", maxReceived) + ",response=" + proof("AUTHENTICATE") + ",qop=" + d.qop.String()
	if d.cipher != "" {
		response += ",cipher=" + d.cipher
	}
	return []byte(response)
}

// verify checks the proof of the server.
func (d *digest) verify(p []byte) error {
	fields, err := parseDirectives(string(p))
	if err != nil {
		return fmt.Errorf("DIGEST-MD5: the last message of the server is wrong: %w", err)
	}
	for _, f := range fields {
		if f.name == "rspauth" && hmac.Equal([]byte(f.value), []byte(d.want)) {
			d.done = true
			return nil
		}
	}
	return errors.New("DIGEST-MD5: the server does not know the password")
}

func (d *digest) Done() bool { return d.done }

func (d *digest) Layer() (Layer, error) {
	switch {
	case !d.done:
		return nil, errors.New("DIGEST-MD5: the exchange is not complete")
	case d.qop == Auth:
		return nil, nil
	}
	return newDigestLayer(d.a1, d.cipher, d.maxBuffer, true)
}

// encode returns the bytes of s that are hashed. If the server announces UTF-8, they are in ISO 8859-1 where that has all
// characters of s (RFC 2831, section 2.1.2.1).
func encode(s string, utf8 bool) []byte {
	if !utf8 {
		return []byte(s)
	}
	latin := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return []byte(s)
		}
		latin = append(latin, byte(r))
	}
	return latin
}

func hexHash(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}
