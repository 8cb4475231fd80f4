// The script of the explorer. The pages work without it, except for uploads with progress, which it adds. It computes
// SHA-256 only, which browsers have; all other digests come from the service and are handed back to it.
'use strict';

document.documentElement.classList.add('script');
const csrf = document.querySelector('meta[name=csrf]')?.content;
const form = document.getElementById('upload');
const panel = document.getElementById('transfers');

// element makes an element with attributes and children.
function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(key, value);
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

// ---- What the pages show.

function localTimes(root) {
  for (const t of root.querySelectorAll('time')) {
    t.title = t.textContent;
    t.textContent = new Date(t.dateTime).toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'short'});
  }
}

function countChosen() {
  const boxes = [...document.querySelectorAll('input[name=name][type=checkbox]')];
  const chosen = boxes.filter((b) => b.checked).length;
  const count = document.getElementById('count'), all = document.getElementById('all');
  if (!count) return;
  count.textContent = chosen ? `${chosen} selected` : 'Nothing selected';
  for (const b of count.parentElement.querySelectorAll('button')) b.disabled = !chosen;
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
}

function show() {
  localTimes(document);
  countChosen();
}

document.addEventListener('change', (event) => {
  if (event.target.id === 'all') {
    for (const b of document.querySelectorAll('input[name=name][type=checkbox]')) b.checked = event.target.checked;
  }
  countChosen();
});

// A menu ends with Escape, or when something else is used.
const menus = [...document.querySelectorAll('details.menu')];
document.addEventListener('keydown', (event) => {
  const open = menus.find((m) => m.open);
  if (event.key !== 'Escape' || !open) return;
  open.open = false;
  open.querySelector('summary').focus();
});
document.addEventListener('click', (event) => {
  for (const m of menus) if (m.open && !m.contains(event.target)) m.open = false;
});
window.addEventListener('pageshow', countChosen);
show();

// ---- Requests of uploads.

class Refused extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const patience = 10 * 60 * 1000; // with a service that does not answer
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// ask sends a request until it is answered. waiting is called while the service cannot be reached.
async function ask(method, page, path, query, {body, headers, signal, waiting}) {
  const url = '/ui/send/' + page + path.split('/').map(encodeURIComponent).join('/') + '?' + new URLSearchParams(query);
  for (let wait = 500, began = Date.now(); ; wait = Math.min(2 * wait, 10000)) {
    let failure;
    try {
      const answer = await fetch(url, {method, body, signal, redirect: 'error', headers: {'Pfs-Csrf': csrf, ...headers}});
      const message = await answer.json().catch(() => null);
      if (answer.ok && message) return message;
      failure = new Refused(message?.kind ?? 'unavailable', message?.message ?? `the answer has the status ${answer.status}`);
      if (message && !message.temporary) throw failure;
    } catch (err) {
      if (signal?.aborted || err === failure) throw err;
      failure = new Refused('unavailable', 'the service cannot be reached');
    }
    if (Date.now() - began > patience) throw failure;
    waiting?.(failure);
    await sleep(wait);
    signal?.throwIfAborted();
  }
}

const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, '0')).join('');
const sha256 = async (bytes) => hex(await crypto.subtle.digest('SHA-256', bytes));

// ---- One upload.

class Upload {
  constructor(dir, rel, source) {
    this.dir = dir;
    this.rel = rel;
    this.path = (dir === '/' ? '' : dir) + '/' + rel;
    this.source = source; // a File, or what returns one
    this.state = 'waiting';
    this.replace = false;
    this.sent = 0;
    this.stop = new AbortController();
  }

  ask(method, page, query, rest = {}) {
    return ask(method, page, this.path, {id: this.id, ...query}, {
      ...rest, signal: this.stop.signal, waiting: (failure) => this.tell('retrying', `Waiting: ${failure.message}`),
    });
  }

  tell(state, text) {
    this.state = state;
    this.text = text;
    queue.show(this);
  }

  async run() {
    try {
      this.file ??= typeof this.source === 'function' ? await this.source() : this.source;
      this.size = this.file.size;
      this.id = await sha256(new TextEncoder().encode(JSON.stringify([this.path, this.size, this.file.lastModified])));
      remember(this);
      for (let again = 0; ; again++) {
        try {
          await this.send();
          break;
        } catch (err) {
          // Staged bytes are lost, or somebody else removed the upload: compare what is there, and go on.
          if (again === 4 || !['integrity check failed', 'changed in the meantime'].includes(err.kind)) throw err;
        }
      }
      forget(this.id);
    } catch (err) {
      if (this.stop.signal.aborted) this.tell('stopped', 'Canceled');
      else if (err.name === 'NotReadableError' || err.name === 'NotFoundError') {
        this.tell('failed', 'The file has changed or is gone since it was chosen: choose it again');
      } else if (err.kind === 'not logged in') this.tell('failed', 'The session has ended: log in, and choose the file again to go on');
      else this.tell('failed', err.message);
    }
  }

  async send() {
    const begin = () => this.ask('POST', 'begin', {size: this.size, below: this.dir, replace: this.replace ? 'yes' : ''});
    this.tell('sending', 'Starting');
    let begun = await begin();
    if (begun.exists) {
      this.replace = await queue.mayReplace(this);
      if (!this.replace) return this.tell('stopped', 'Skipped: the name is taken');
      begun = await begin();
    }
    this.leaf = begun.length;
    this.leaves = new Array(Math.ceil(this.size / this.leaf));
    this.sent = 0;
    const first = begun.resumed ? await this.compare(begun.unit) : 0;
    this.sent = Math.min(first * this.leaf, this.size);
    // The bytes of a unit are sent in order. Where a leaf is a unit, several are sent at a time.
    let next = first;
    const worker = async () => {
      while (next < this.leaves.length) await this.sendLeaf(next++);
    };
    await Promise.all(Array.from({length: begun.unit <= this.leaf ? 3 : 1}, worker));
    this.tell('sending', 'Verifying');
    const done = await this.ask('POST', 'commit', {size: this.size, time: this.file.lastModified, replace: this.replace ? 'yes' : ''}, {body: this.leaves.join('')});
    if (done.exists) {
      this.replace = await queue.mayReplace(this);
      if (!this.replace) return this.tell('stopped', 'Skipped: the name is taken');
      return this.send();
    }
    this.tell('done', 'Uploaded and verified');
  }

  range(n) {
    const off = n * this.leaf;
    return [off, Math.min(this.leaf, this.size - off)];
  }

  bytes(n) {
    const [off, length] = this.range(n);
    return this.file.slice(off, off + length).arrayBuffer();
  }

  // compare returns the first leaf to send: those before it are staged as they are in the file.
  async compare(unit) {
    let n = 0;
    try {
      for (; n < this.leaves.length; n++) {
        const [off, length] = this.range(n);
        this.sent = off;
        this.tell('sending', 'Comparing what is there');
        const [there, here] = await Promise.all([this.ask('GET', 'leaf', {off, len: length}), this.bytes(n).then(sha256)]);
        if (there.size !== length || there.sha256 !== here) break;
        this.leaves[n] = there.leaf;
      }
    } catch (err) {
      if (!(err instanceof Refused) || err.kind === 'unavailable' || err.kind === 'not logged in') throw err;
    }
    if (n === this.leaves.length) return n;
    return Math.floor(n * this.leaf / unit) * unit / this.leaf;
  }

  async sendLeaf(n) {
    const [off, length] = this.range(n);
    const body = await this.bytes(n);
    const headers = {'Pfs-Sha256': await sha256(body), 'Content-Type': 'application/octet-stream'};
    const there = await this.ask('PUT', 'leaf', {off}, {body, headers});
    this.leaves[n] = there.leaf;
    this.sent += length;
    this.tell('sending', '');
  }

  // cancel ends the upload and removes what is staged.
  async cancel() {
    this.stop.abort();
    queue.answer(this, false);
    forget(this.id);
    if (this.state === 'waiting') this.tell('stopped', 'Canceled');
    if (this.id) await ask('POST', 'discard', this.path, {id: this.id}, {}).catch(() => {});
  }
}

// ---- All uploads of this page.

const queue = {
  items: [],
  running: 0,
  all: null, // the answer for all names that are taken
  asked: new Map(),

  add(upload) {
    this.items.push(upload);
    this.next();
  },

  next() {
    while (this.running < 3) {
      const upload = this.items.find((u) => u.state === 'waiting');
      if (!upload) break;
      this.running++;
      upload.state = 'sending';
      upload.run().finally(() => {
        this.running--;
        this.next();
        if (!this.running) refresh();
      });
    }
    this.sum();
  },

  mayReplace(upload) {
    if (replaceBox?.checked) return true;
    if (this.all !== null) return this.all;
    return new Promise((answer) => {
      this.asked.set(upload, answer);
      upload.tell('asking', 'The name is taken');
    });
  },

  answer(upload, yes) {
    this.asked.get(upload)?.(yes);
    this.asked.delete(upload);
    this.sum();
  },

  answerAll(yes) {
    this.all = yes;
    for (const upload of [...this.asked.keys()]) this.answer(upload, yes);
  },

  // show brings the row of an upload up to date. Rows of uploads that have ended well are removed when there are many.
  show(upload) {
    if (!upload.row) {
      upload.name = element('span', {class: 'name'}, upload.rel);
      upload.status = element('span', {class: 'muted'});
      upload.buttons = element('span');
      upload.bar = element('progress', {'aria-label': `Upload of ${upload.rel}`, max: '1', value: '0'});
      upload.row = element('li', {}, upload.name, upload.buttons, upload.status, upload.bar);
      list.append(upload.row);
    }
    const over = ['done', 'stopped', 'failed'].includes(upload.state);
    const percent = upload.size ? Math.floor(100 * upload.sent / upload.size) : 0;
    upload.status.textContent = upload.text || `${percent}%`;
    upload.status.className = upload.state === 'failed' ? 'failed' : 'muted';
    upload.bar.value = upload.state === 'done' ? 1 : percent / 100;
    upload.bar.hidden = over && upload.state !== 'done';
    if (upload.shown !== upload.state) {
      upload.shown = upload.state;
      upload.row.dataset.state = upload.state;
      const button = (text, click) => element('button', {type: 'button', class: 'quiet', 'aria-label': `${text}: ${upload.rel}`, click}, text);
      upload.buttons.replaceChildren(...{
        asking: [button('Replace', () => this.answer(upload, true)), button('Skip', () => this.answer(upload, false))],
        failed: [button('Try again', () => { upload.state = 'waiting'; upload.stop = new AbortController(); this.next(); })],
        done: [], stopped: [],
      }[upload.state] ?? [button('Cancel', () => upload.cancel())]);
      if (upload.state === 'done' && this.items.length > 20) upload.row.remove();
      this.sum();
    }
  },

  sum() {
    if (!this.items.length) return;
    panel.hidden = false;
    const count = (...states) => this.items.filter((u) => states.includes(u.state)).length;
    const ended = count('done'), bad = count('failed');
    let text = `${ended} of ${this.items.length} uploaded and verified`;
    if (bad) text += `, ${bad} failed`;
    if (summary.textContent !== text) summary.textContent = text;
    replaceAll.hidden = skipAll.hidden = this.asked.size < 2;
    clear.hidden = this.running > 0 || count('waiting') > 0;
  },

  clear() {
    this.items = [];
    this.all = null;
    list.replaceChildren();
    panel.hidden = true;
  },
};

const summary = element('span', {role: 'status'});
const replaceAll = element('button', {type: 'button', click: () => queue.answerAll(true)}, 'Replace all');
const skipAll = element('button', {type: 'button', click: () => queue.answerAll(false)}, 'Skip all');
const clear = element('button', {type: 'button', class: 'quiet', click: () => queue.clear()}, 'Close');
const list = element('ul');
panel?.append(element('div', {class: 'sum'}, summary, replaceAll, skipAll, clear), list);
const replaceBox = form?.elements.replace;

window.addEventListener('beforeunload', (event) => {
  if (queue.running) event.preventDefault();
});

// refresh shows the folder as it is now.
async function refresh() {
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const fresh = page.getElementById('listing');
  if (!fresh) return;
  document.getElementById('listing').replaceWith(fresh);
  show();
}

// ---- Uploads that were interrupted, by path. Only what the notice needs is kept in the browser: the service knows
// the bytes, and the same file has the same ID.

const store = 'pfs-uploads';
const pending = () => {
  try {
    return JSON.parse(localStorage.getItem(store)) ?? [];
  } catch {
    return []; // the browser keeps nothing: the notice is missing, and uploads go on all the same
  }
};
const keep = (items) => {
  try {
    localStorage.setItem(store, JSON.stringify(items.slice(-500)));
  } catch {} // likewise
};
const remember = (u) => keep([...pending().filter((p) => p.id !== u.id), {id: u.id, path: u.path, dir: u.dir, rel: u.rel}]);
const forget = (id) => keep(pending().filter((p) => p.id !== id));

function remind() {
  const here = pending().filter((p) => p.dir === form.dataset.dir);
  if (!here.length) return;
  const names = here.slice(0, 5).map((p) => p.rel).join(', ') + (here.length > 5 ? ` and ${here.length - 5} more` : '');
  const note = element('p', {class: 'note', id: 'interrupted', role: 'note'},
    `Not finished: ${names}. Choose or drop the same files again, and the upload goes on where it stopped. `,
    element('button', {type: 'button', class: 'quiet', click: async () => {
      note.remove();
      for (const p of here) {
        forget(p.id);
        await ask('POST', 'discard', p.path, {id: p.id}, {}).catch(() => {});
      }
    }}, 'Discard them'));
  panel.before(note);
}

// ---- Files that are chosen or dropped.

function add(files) {
  document.getElementById('interrupted')?.remove();
  for (const f of files) queue.add(new Upload(form.dataset.dir, f.webkitRelativePath || f.name, f));
}

// addEntry adds a dropped file, or all that is in a dropped folder.
async function addEntry(entry, prefix = '') {
  const rel = prefix + entry.name, dir = form.dataset.dir;
  if (entry.isFile) {
    queue.add(new Upload(dir, rel, () => new Promise((done, failed) => entry.file(done, failed))));
    return;
  }
  const reader = entry.createReader();
  let empty = true;
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) break;
    empty = false;
    for (const e of some) await addEntry(e, rel + '/');
  }
  if (empty) {
    await ask('POST', 'mkdir', (dir === '/' ? '' : dir) + '/' + rel, {below: dir}, {});
    if (!queue.running) refresh();
  }
}

if (form && csrf && crypto.subtle) {
  const folder = document.getElementById('folder'), input = form.elements.file;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    add([...input.files, ...folder.files]);
    input.value = folder.value = '';
    form.closest('details').open = false;
  });
  folder.addEventListener('change', () => { input.required = !folder.files.length; });
  let depth = 0;
  const carries = (event) => [...event.dataTransfer.types].includes('Files');
  const drag = (change) => (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth += change;
    document.body.classList.toggle('dropping', depth > 0);
  };
  document.addEventListener('dragenter', drag(1));
  document.addEventListener('dragleave', drag(-1));
  document.addEventListener('dragover', drag(0));
  document.addEventListener('drop', (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    document.body.classList.remove('dropping');
    const entries = [...event.dataTransfer.items].map((i) => i.webkitGetAsEntry?.()).filter(Boolean);
    if (!entries.length) return add(event.dataTransfer.files);
    for (const e of entries) {
      addEntry(e).catch((err) => {
        const failed = new Upload(form.dataset.dir, e.name, () => { throw err; });
        queue.add(failed);
      });
    }
  });
  remind();
}
