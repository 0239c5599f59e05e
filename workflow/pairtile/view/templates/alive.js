// A page that is served holds a connection to its server, which ends when no page holds one.
"use strict";
{
  const [, secret] = location.pathname.split("/");
  const held = new EventSource(`/${secret}/alive`);
  held.onerror = () => {
    const note = document.getElementById("ended");
    if (note) note.hidden = held.readyState === EventSource.OPEN;
  };
  held.onopen = held.onerror;
}
