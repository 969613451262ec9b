(() => {
  // Without this the pages work as well: somebody loads them again.
  let known = document.body.dataset.stamp;
  if (!known || !window.EventSource) return;
  const busy = () => document.activeElement && document.activeElement.closest('main form');
  const renew = async stamp => {
    if (busy()) return;
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (answer.redirected) { location.reload(); return; }
    if (!answer.ok || busy()) return;
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main');
    const main = document.querySelector('main');
    if (!next) return;
    const open = [...main.querySelectorAll('details')].map(one => one.open);
    [...next.querySelectorAll('details')].forEach((one, at) => { one.open = Boolean(open[at]); });
    const focused = main.contains(document.activeElement) && document.activeElement.getAttribute('href');
    main.replaceChildren(...next.childNodes);
    if (focused) [...main.querySelectorAll('a')].find(one => one.getAttribute('href') === focused)?.focus();
    known = stamp;
    document.getElementById('renewed').textContent = 'The page was renewed just now.';
  };
  let newest = known, renewing = false;
  const hear = async event => {
    newest = event.data;
    if (renewing) return;
    renewing = true;
    for (let stamp = known; stamp !== newest;) {
      stamp = newest;
      await renew(stamp).catch(() => {});
    }
    renewing = false;
  };
  // A browser has few connections to a server: tabs in the background have none.
  let stream;
  const follow = () => {
    stream?.close();
    if (document.visibilityState !== 'visible') return;
    stream = new EventSource('/changes');
    stream.onmessage = hear;
  };
  document.addEventListener('visibilitychange', follow);
  follow();
})();
