// Package web is the explorer in the browser: pages below /ui/ with which a user logs in, browses, uploads,
// downloads, renames and deletes, and runs training jobs.
//
// The pages are rendered here, by html/template, and work without a script. The only script adds drag and drop of
// folders, progress, and uploads that continue after a reload or a crash of the service.
//
// # Sessions
//
// A login sets two cookies, which scripts cannot read: an access token and a refresh token of package auth. So a
// session lasts as long as one of paddlectl, ends with the account, its password or its role, and is valid at all
// replicas. The browser sends the cookies only with requests from these pages (SameSite=Strict). A request that
// changes something must also come from these pages (Sec-Fetch-Site or Origin), and must carry the session token
// of the pages.
//
// # Uploads
//
// The script sends a file in leaves by the upload session of package wire. Its requests are translated here into
// requests of that protocol, with the same limits, digests and audit lines. A browser has no XXH3, so it sends the
// SHA-256 of each leaf. The bytes are compared with it as they arrive, and the answer is the leaf's XXH3. The commit
// carries the XXH3 of all leaves, so the service publishes only the bytes that the browser has sent. After an
// interruption the script asks for the digests of the staged leaves, and continues where they end.
//
// # Untrusted files
//
// A file never runs in the browser. It is always sent as an attachment, with a type that no browser shows, and with
// a policy that forbids scripts. Only images of three formats have their type, for the page of the file. The preview
// of a file is bounded in time and bytes, and always rendered as text by a template.
//
// # Jobs
//
// The pages of jobs call engines by the methods of jobhttp, as requests of the user at the service: with the same
// limits, checks and audit lines as paddlectl. If an engine does not answer in time, the pages show the records in the
// store. Package jobfile checks the file that a user types, in the user's turns.
//
// # Files
//
//	web                 Config, the routes, the headers of all answers
//	enter, login        sessions and the origin of requests; logging in and out
//	page                templates and their functions
//	list, file          a folder, a page at a time; the page of a file
//	preview             previews: text, or
//	previewdata         tables, JSON and manifests of datasets,
//	previewimage        images,
//	previewrecords      records of RecordIO files
//	share               links for people without an account
//	raw, zip, zipname   downloads of files, of folders, and the names in archives
//	change, usage       new folders, new names, deleting; usage and quotas
//	form                uploads by a form
//	send, service       uploads by the script, as requests of package wire
//	jobs, job           the list of jobs, and the requests to engines; the page of a job, stopping and deleting
//	joblog              the log of a job, as it comes
//	jobnew              new jobs by a form, and job files
package web
