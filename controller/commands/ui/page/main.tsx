import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { emptyPicture, mergeUpdate, type Picture } from '../merge-update.ts';
import type { Update } from '../update.ts';
import { counted, type Filter, groupsOf, isShown, wordsOf } from './groups.ts';
import { Nodes } from './nodes.tsx';
import { Decisions, Faults, Panel, type Subject } from './panel.tsx';
import { Clouds, Members, Routes, Services } from './tables.tsx';
import { Chips, Notices, Top } from './top.tsx';

/** Follows the updates of the command; draws at most once a frame. */
function useUpdates(): { readonly picture: Picture; readonly live: boolean } {
  const [shown, show] = useState({ picture: emptyPicture, live: true });
  useEffect(() => {
    let now = shown;
    let waits = false;
    const set = (next: typeof now) => {
      now = next;
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => {
        waits = false;
        show(now);
      });
    };
    const source = new EventSource('updates');
    source.addEventListener('message', ({ data }) =>
      set({ picture: mergeUpdate(now.picture, JSON.parse(data) as Update), live: true }),
    );
    source.addEventListener('error', () => set({ ...now, live: false }));
    return () => source.close();
  }, []);
  return shown;
}

/** The wall clock, as it is every second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function Page() {
  const { picture, live } = useUpdates();
  const { head, metrics, zones, services, decisions, faults } = picture;
  const nowMs = useNow();
  const [text, setText] = useState('');
  const [group, setGroup] = useState<string>();
  const [subject, setSubject] = useState<Subject>();
  const search = useRef<HTMLInputElement>(null);
  const opener = useRef<Element | null>(null);
  const filter: Filter = useMemo(() => ({ words: wordsOf(text), group }), [text, group]);
  const nodes = useMemo(() => [...zones.values()].flatMap((rows) => [...rows.values()]), [zones]);
  const nodeGroups = useMemo(() => groupsOf(nodes), [zones]);
  const serviceGroups = useMemo(() => groupsOf(services.values()), [services]);
  const shownNodes = useMemo(() => nodes.filter((row) => isShown(row, filter)).length, [zones, filter]);
  const open = (kind: Subject['kind'], name: string) => {
    opener.current = document.activeElement;
    setSubject({ kind, name });
  };
  const close = () => {
    setSubject(undefined);
    if (opener.current instanceof HTMLElement) opener.current.focus();
  };
  // Before the page is painted: what is shown already answers the next key.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key === '/' && !typing) {
        event.preventDefault();
        search.current?.focus();
      } else if (event.key === 'Escape') {
        if (subject !== undefined) close();
        else {
          setText('');
          setGroup(undefined);
        }
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
  const row =
    subject && (subject.kind === 'node' ? nodes.find(({ name }) => name === subject.name) : services.get(subject.name));
  const isRead = (what: string) => head !== undefined && !head.hidden.includes(what);
  const unread = head === undefined ? '...' : 'unknown: may not be listed';
  return (
    <>
      <Top head={head} live={live} nowMs={nowMs} text={text} search={search} onText={setText} />
      <Notices head={head} live={live} />
      <div class="columns">
        <main>
          {faults.length > 0 && <Faults faults={faults} nodes={nodes} />}
          <section class="box" aria-labelledby="nodes-title">
            <h2 id="nodes-title">
              Nodes <span class="quiet">{isRead('nodes') ? total(shownNodes, nodes.length) : unread}</span>
            </h2>
            <Chips groups={nodeGroups} label="Nodes by state and reason" chosen={group} onChoose={setGroup} />
            <Nodes zones={zones} filter={filter} onOpen={open} />
            {nodes.length > 0 && shownNodes === 0 && <p class="quiet">No Node matches.</p>}
          </section>
          <section class="box" aria-labelledby="services-title">
            <h2 id="services-title">
              Services <span class="quiet">{isRead('services') ? counted.format(services.size) : unread}</span>
            </h2>
            <Chips groups={serviceGroups} label="Services by state and reason" chosen={group} onChoose={setGroup} />
            {isRead('services') && <Services services={services} filter={filter} nowMs={nowMs} onOpen={open} />}
          </section>
          <div class="row">
            <section class="box" aria-labelledby="clouds-title">
              <h2 id="clouds-title">Calls to clouds</h2>
              <Clouds metrics={metrics} />
            </section>
            <section class="box" aria-labelledby="members-title">
              <h2 id="members-title">Members of load balancers</h2>
              <Members metrics={metrics} services={services} nodes={nodes} onOpen={open} />
            </section>
            <section class="box" aria-labelledby="routes-title">
              <h2 id="routes-title">Routes</h2>
              <Routes metrics={metrics} nodes={nodes} />
            </section>
          </div>
        </main>
        <div class="side">
          {subject && <Panel subject={subject} row={row} onClose={close} />}
          <section class="box" aria-labelledby="decisions-title">
            <h2 id="decisions-title">
              Decisions <span class="quiet">{isRead('events') ? '' : unread}</span>
            </h2>
            {isRead('events') && <Decisions decisions={decisions} onOpen={open} />}
          </section>
        </div>
      </div>
    </>
  );
}

function total(shown: number, all: number): string {
  return shown === all ? counted.format(all) : `${counted.format(shown)} of ${counted.format(all)}`;
}

const root = document.getElementById('page');
if (root !== null) {
  root.replaceChildren();
  render(<Page />, root);
}
