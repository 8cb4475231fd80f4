package sasl

import "fmt"

// Mechanism is the client side of one exchange and then of its layer.
type Mechanism interface {
	// Start returns the first response, for a challenge that may be nil.
	Start(challenge []byte) ([]byte, error)
	// Next returns the response to a challenge. The last one proves that the server knows the secret.
	Next(challenge []byte) ([]byte, error)
	// Done reports whether the server is authenticated and the client has no further response.
	Done() bool
	// Layer returns the layer that protects the messages after the exchange, or nil if they are not protected.
	Layer() (Layer, error)
}

// Layer protects messages, which arrive in the order in which they were sent.
type Layer interface {
	// Wrap protects a message of at most MaxPlain bytes.
	Wrap(p []byte) ([]byte, error)
	// Unwrap returns the message. It fails if the message was changed, repeated, or is not the next one.
	Unwrap(p []byte) ([]byte, error)
	// MaxPlain is the length of the longest message that the server accepts.
	MaxPlain() int
}

// QOP is a quality of protection.
type QOP int

const (
	Auth     QOP = 1 // messages are not protected
	AuthInt  QOP = 2 // messages are signed
	AuthConf QOP = 4 // messages are encrypted and signed
)

// names are those of RFC 2831.
var names = map[QOP]string{Auth: "auth", AuthInt: "auth-int", AuthConf: "auth-conf"}

func (q QOP) String() string {
	if name, ok := names[q]; ok {
		return name
	}
	return fmt.Sprintf("QOP(%d)", int(q))
}

// choose returns the first one of wanted that the server offers.
func choose(wanted []QOP, offered QOP) (QOP, error) {
	for _, q := range wanted {
		if offered&q != 0 {
			return q, nil
		}
	}
	var theirs []QOP
	for _, q := range []QOP{Auth, AuthInt, AuthConf} {
		if offered&q != 0 {
			theirs = append(theirs, q)
		}
	}
	return 0, fmt.Errorf("the server offers the protections %v, and %v are wanted", theirs, wanted)
}

// maxReceived is the longest wrapped message that clients announce to accept: the default of Java.
const maxReceived = 65536
