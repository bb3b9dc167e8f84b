'use strict';
// Pages are drawn by the server. This script only saves the reader the reload: a
// link marked data-swap, and what changes in a running match, is fetched as the
// same page and takes the old one's place.
(() => {
  const root = document.documentElement;
  root.classList.add('js');

  const PLAY_EVERY_MS = 900, SLIDER_PAUSE_MS = 120, LIVE_PAUSE_MS = 200, TICK_MS = 200, RETRY_MS = 5000;
  const main = () => document.getElementById('main');

  // ---- taking a page's place

  let asked = 0; // so that a slow answer never takes the place of a later one

  async function swap(url, history) {
    const mine = ++asked;
    let response;
    try {
      response = await fetch(url, {credentials: 'same-origin'});
    } catch {
      return false; // off line: the page stays as it is
    }
    if (mine !== asked) return true;
    if (response.redirected || !response.ok) { // signed out, or gone
      location.assign(url);
      return false;
    }
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (mine !== asked) return true;
    const old = main(), place = old.querySelector('.moves')?.scrollTop;
    const focused = document.activeElement?.dataset?.step ?? (document.activeElement?.matches('[data-ply]') ? 'slider' : null);
    old.replaceWith(document.adoptNode(fresh.getElementById('main')));
    document.title = fresh.title;
    const language = fresh.querySelector('.language');
    if (language) document.querySelector('.language').replaceWith(document.adoptNode(language));
    if (history === 'push') window.history.pushState(null, '', url);
    if (history === 'replace') window.history.replaceState(null, '', url);
    if (place !== undefined && main().querySelector('.moves')) main().querySelector('.moves').scrollTop = place;
    if (focused) main().querySelector(focused === 'slider' ? '[data-ply]' : `[data-step="${focused}"]`)?.focus();
    arrived();
    return true;
  }

  // ---- stepping and playing

  let playing = null; // the run of play(), if there is one

  function stop() {
    playing = null;
    showPlaying();
  }

  function showPlaying() {
    const button = main().querySelector('[data-play]');
    if (button) button.setAttribute('aria-pressed', String(playing !== null));
  }

  const linked = (name) => main().querySelector(`a[data-step="${name}"]`);

  async function step(name) {
    const link = linked(name);
    return link !== null && await swap(link.getAttribute('href'), 'replace');
  }

  // Each step waits for the page of the one before: over a slow line it would else
  // take that page's place again and again, and nothing would ever be shown.
  async function play() {
    if (playing) return stop();
    const mine = playing = {};
    showPlaying();
    for (let name = linked('forward') ? 'forward' : 'first'; playing === mine; name = 'forward') {
      const pause = new Promise((done) => { setTimeout(done, PLAY_EVERY_MS); });
      if (!await step(name)) break;
      await pause;
    }
    if (playing === mine) stop();
  }

  document.addEventListener('click', (event) => {
    if (event.target.closest('[data-play]')) return play();
    const link = event.target.closest('a[data-swap]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    stop();
    swap(link.getAttribute('href'), 'push');
  });

  document.addEventListener('keydown', (event) => {
    if (event.target.matches('input, select, textarea') || event.altKey || event.ctrlKey || event.metaKey) return;
    const name = {ArrowLeft: 'back', ArrowRight: 'forward', Home: 'first', End: 'last'}[event.key];
    if (!name || !main().matches('.game')) return;
    event.preventDefault();
    stop();
    step(name);
  });

  let sliding = 0;
  document.addEventListener('input', (event) => {
    if (!event.target.matches('[data-ply]')) return;
    stop();
    clearTimeout(sliding);
    const url = new URL(location.href);
    url.searchParams.set('ply', event.target.value);
    sliding = setTimeout(() => swap(url.pathname + url.search, 'replace'), SLIDER_PAUSE_MS);
  });

  window.addEventListener('popstate', () => { stop(); swap(location.href); });

  // ---- running matches

  let source = null, refreshing = 0;

  function watch() {
    const address = main().dataset.live;
    if (!address) {
      source?.close();
      source = null;
      return;
    }
    if (source) return; // it goes on through the pages of one match
    source = new EventSource(address);
    source.addEventListener('change', () => {
      clearTimeout(refreshing);
      refreshing = setTimeout(() => swap(location.href), LIVE_PAUSE_MS);
    });
    source.addEventListener('end', () => { source?.close(); });
    source.onopen = () => root.classList.add('watching');
    source.onerror = () => {
      root.classList.remove('watching');
      if (source?.readyState !== EventSource.CLOSED) return; // it comes back by itself
      source = null;
      setTimeout(watch, RETRY_MS);
    };
  }

  // ---- clocks

  let offset = 0; // of the database's clock to this one's

  function tick() {
    for (const clock of document.querySelectorAll('[data-deadline]')) {
      const tenths = Math.max(0, Math.round((Number(clock.dataset.deadline) - Date.now() - offset) / 100));
      const seconds = Math.floor(tenths / 10);
      clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}.${tenths % 10}`;
    }
  }
  setInterval(tick, TICK_MS);

  // ---- each time that a page has arrived

  function arrived() {
    const now = Number(main().dataset.now);
    if (now) offset = now - Date.now();
    const list = main().querySelector('.moves'), current = list?.querySelector('[aria-current]');
    if (current) {
      const top = current.offsetTop; // in the list, which is positioned
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - current.offsetHeight) {
        list.scrollTop = top - list.clientHeight / 2;
      }
    }
    showPlaying();
    watch();
  }
  arrived();
})();
