package wire

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// TrailerError is the trailer with the error that ended an answer early: an Error message without
// the path, in base64. TE and TETrailers are the header of a request whose sender reads it.
const (
	TrailerError = "Pfs-Error"
	TE           = "TE"
	TETrailers   = "trailers"
)

// maxTrailerText bounds the text in a trailer: receivers have 4 KiB for all of them.
const maxTrailerText = 2000

// EncodeTrailer returns the value of TrailerError for err.
func EncodeTrailer(err error) string {
	e := NewError(err)
	e.Path = "" // the request names it
	if len(e.Text) > maxTrailerText {
		e.Text = strings.ToValidUTF8(e.Text[:maxTrailerText], "")
	}
	return base64.StdEncoding.EncodeToString(Encode(e))
}

// ErrorOf returns the error in the trailers of an answer that was read to its end, or nil.
func ErrorOf(trailer http.Header) error {
	value := trailer.Get(TrailerError)
	if value == "" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return err
	}
	var e Error
	if err := Decode(b, &e); err != nil {
		return err
	}
	return e.Err()
}
