package web

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // formats of image.DecodeConfig
	_ "image/jpeg"
	_ "image/png"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	maxImage   = 32 << 20 // bytes
	maxPixels  = 64 << 20 // that a browser decodes
	imageStart = 1 << 20  // in which the size of the image is
)

// imageType returns the type of an image that browsers show, by how it begins, or "". SVG is none of them: it can hold scripts.
func imageType(p []byte) string {
	switch {
	case bytes.HasPrefix(p, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(p, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(p, []byte("GIF87a")), bytes.HasPrefix(p, []byte("GIF89a")):
		return "image/gif"
	}
	return ""
}

// image shows an image, which the browser gets from its own address.
func (r *reading) image(p []byte) (*preview, error) {
	c, err := r.config()
	if err != nil {
		return &preview{Heading: "Image", Problem: "This image cannot be shown: " + err.Error()}, nil
	}
	return &preview{
		Heading: "Image", Facts: []fact{{"Format", imageType(p)[len("image/"):]}, {"Pixels", fmt.Sprintf("%d × %d", c.Width, c.Height)}},
		Image: address("image", r.name),
	}, nil
}

// config returns the size of the image, or an error if a browser should not decode it.
func (r *reading) config() (c image.Config, err error) {
	if r.info.Size > maxImage {
		return c, fmt.Errorf("it has %s, and previews are for at most %s", size(r.info.Size), size(maxImage))
	}
	p, err := r.head(imageStart)
	if err != nil {
		return c, err
	}
	if imageType(p) == "" {
		return c, image.ErrFormat
	}
	if c, _, err = image.DecodeConfig(bytes.NewReader(p)); err != nil {
		return c, err
	}
	if int64(c.Width)*int64(c.Height) > maxPixels {
		return c, fmt.Errorf("it has %d × %d pixels, and previews are for at most %s", c.Width, c.Height, grouped(maxPixels))
	}
	return c, nil
}

// image sends an image for the page of its file, with the type of its first bytes.
func (x *Web) image(v *visit, name pfs.Path) error {
	end, err := v.session.Transfer(v.Context())
	if err != nil {
		return err
	}
	defer end()
	r, err := v.reading(name)
	if err != nil {
		return err
	}
	defer r.close()
	if _, err := r.config(); err != nil {
		return pfs.Errorf("web.image", name, pfs.Invalid, "no image that can be shown: %w", err)
	}
	p, err := r.head(16)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", imageType(p))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "private, no-cache")
	return v.send(r.f)
}
