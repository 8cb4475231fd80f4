// The script of the pages of jobs: it keeps states up to date, follows logs, and has files checked as they are typed. The
// pages work without it. Whatever it shows is made by the service as a page, or is set as text.
'use strict';

const parsed = async (answer) => new DOMParser().parseFromString(await answer.text(), 'text/html');

// ---- A section that the service makes again every few seconds.

const section = document.querySelector('[data-reload]');
const announce = document.getElementById('announce');
let last = section?.outerHTML;

async function reload() {
  const began = Date.now();
  let pause = 1000 * (section.dataset.reload || 5);
  try {
    if (!document.hidden) {
      const answer = await fetch(location.href, {redirect: 'error'});
      const fresh = answer.ok && (await parsed(answer)).getElementById(section.id);
      if (fresh) replace(fresh);
    }
  } catch {} // the service is away: the next time will tell
  pause = Math.max(pause, 10 * (Date.now() - began));
  if (section.dataset.reload) setTimeout(reload, pause);
}

// replace shows a fresh section, unless nothing changed or the keyboard is in it.
function replace(fresh) {
  const text = fresh.outerHTML;
  if (text === last || section.contains(document.activeElement)) return;
  last = text;
  const before = section.dataset.state, after = fresh.dataset.state;
  for (const key of ['reload', 'state']) {
    if (fresh.dataset[key] === undefined) delete section.dataset[key];
    else section.dataset[key] = fresh.dataset[key];
  }
  section.replaceChildren(...fresh.childNodes);
  localTimes(section);
  if (before !== after) announce.textContent = `The job is ${after}`;
}

if (section) setTimeout(reload, 1000 * section.dataset.reload);

// ---- The log.

const log = document.getElementById('log');
const most = 2000; // lines that are kept
const widest = 4000; // characters of a line that are shown
let following; // the request that is being read

// follow shows the end of the log and what comes, again and again until the job has ended.
async function follow() {
  following?.abort();
  const stop = following = new AbortController();
  const state = document.getElementById('logstate');
  for (let wait = 1000; !stop.signal.aborted; wait = Math.min(2 * wait, 30000)) {
    let end = 'The log broke off';
    const began = Date.now();
    try {
      const query = new URLSearchParams({follow: 1, worker: worker.value, attempt: document.getElementById('attempt')?.value ?? ''});
      const answer = await fetch(`${log.dataset.url}?${query}`, {signal: stop.signal, redirect: 'error'});
      if (!answer.ok) throw new Error((await parsed(answer)).querySelector('.message')?.textContent);
      log.replaceChildren();
      state.textContent = '';
      for await (const message of messages(answer.body)) {
        if (message.end) end = message.end;
      }
    } catch (err) {
      if (stop.signal.aborted) return;
      end = err.message || end;
    }
    const live = document.querySelector('#job[data-reload]');
    state.textContent = end;
    if (!live) return;
    if (Date.now() - began > 30000) wait = 1000;
    await sleep(wait);
  }
}

// messages reads lines of JSON, and shows those of the log.
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const {done, value} = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    const all = lines.filter(Boolean).map((l) => JSON.parse(l));
    append(all.filter((m) => !m.end));
    yield* all;
  }
}

function append(lines) {
  if (!lines.length) return;
  const rows = lines.slice(-most).map((l) => {
    const text = l.text.length > widest ? l.text.slice(0, widest) + '…' : l.text;
    return element('div', {class: l.stream === 'stderr' ? 'stderr' : ''}, element('span', {class: 'muted', title: l.time ?? ''}, l.worker), ' ', text);
  });
  log.append(...rows);
  while (log.childElementCount > most) log.firstElementChild.remove();
  if (document.getElementById('follow').checked) log.scrollTop = log.scrollHeight;
}

const worker = document.getElementById('worker');
if (log) {
  worker.addEventListener('change', follow);
  document.getElementById('attempt')?.addEventListener('change', follow);
  follow();
}

// ---- A file that is checked as it is typed.

const file = document.getElementById('jobfile');
if (file) {
  const text = document.getElementById('text'), findings = document.getElementById('findings');
  let timer, asking;

  const ask = async (what) => {
    asking?.abort();
    asking = new AbortController();
    const fields = new URLSearchParams(new FormData(file));
    fields.set('do', what);
    try {
      const answer = await fetch(file.action, {method: 'POST', body: fields, signal: asking.signal, redirect: 'error'});
      const page = await parsed(answer);
      const fresh = page.getElementById('findings');
      if (!answer.ok || !fresh) throw new Error(page.querySelector('.message')?.textContent);
      findings.replaceChildren(...fresh.childNodes);
      return page;
    } catch (err) {
      if (err.name !== 'AbortError') findings.textContent = err.message || 'The service cannot be reached, so the file is not checked.';
    }
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask('check'), 600);
  };
  text.addEventListener('input', soon);
  text.addEventListener('dragover', (event) => event.preventDefault());
  text.addEventListener('drop', async (event) => {
    const dropped = event.dataTransfer.files[0];
    if (!dropped) return;
    event.preventDefault();
    text.value = dropped.size > 1 << 20 ? '' : await dropped.text();
    soon();
  });
  document.getElementById('fix').addEventListener('click', async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    const page = await ask('fix');
    if (page) text.value = page.getElementById('text').value;
  });
  findings.addEventListener('click', (event) => {
    const {line, column} = event.target.dataset;
    if (!line) return;
    event.preventDefault();
    const before = text.value.split('\n').slice(0, line - 1);
    const from = before.reduce((n, l) => n + l.length + 1, 0);
    const row = text.value.slice(from).split('\n')[0];
    const at = from + [...row].slice(0, column - 1).join('').length;
    text.focus();
    text.setSelectionRange(at, from + row.length);
    text.scrollTop = (line - 3) * parseFloat(getComputedStyle(text).lineHeight);
  });
}
