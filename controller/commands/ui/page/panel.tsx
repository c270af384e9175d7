import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Decision, Explained, FaultAction, NodeRow } from '../update.ts';
import type { Open } from './nodes.tsx';
import { State } from './tables.tsx';

export interface Subject {
  readonly kind: 'node' | 'service';
  readonly name: string;
}

interface PanelProps {
  readonly subject: Subject;
  /** Changes whenever its row does: then it is explained again. */
  readonly row: unknown;
  onClose(): void;
}

/** What `explain` says of a Node or Service. */
export function Panel({ subject, row, onClose }: PanelProps) {
  const { kind, name } = subject;
  const [answer, setAnswer] = useState<{ readonly of: Subject; readonly explained: Explained | string }>();
  const title = useRef<HTMLHeadingElement>(null);
  // Before the page is painted: later it would take the focus from where the next key has put it.
  useLayoutEffect(() => title.current?.focus(), [subject]);
  useEffect(() => {
    const leaving = new AbortController();
    const show = (explained: Explained | string) => !leaving.signal.aborted && setAnswer({ of: subject, explained });
    explain(subject, leaving.signal).then(show, (error: unknown) => show(String(error)));
    return () => leaving.abort();
  }, [subject, row]);
  const explained = answer?.of === subject ? answer.explained : undefined;
  return (
    <aside class="panel" aria-labelledby="panel-title">
      <header>
        <h2 id="panel-title" ref={title} tabIndex={-1}>
          <small>{kind}</small> {name}
        </h2>
        <button type="button" onClick={onClose} aria-label="Close the explanation" title="Escape">
          &times;
        </button>
      </header>
      {explained === undefined && <p class="quiet">Reads what the API server knows of it.</p>}
      {typeof explained === 'string' && <p class="notice">{explained}</p>}
      {typeof explained === 'object' && <Explanation explained={explained} subject={subject} />}
    </aside>
  );
}

async function explain({ kind, name }: Subject, signal: AbortSignal): Promise<Explained | string> {
  const answer = await fetch(`explain?${new URLSearchParams({ [kind]: name })}`, { signal });
  return answer.ok ? ((await answer.json()) as Explained) : answer.text();
}

function Explanation({ explained, subject: { kind, name } }: { explained: Explained; subject: Subject }) {
  const { state, reason, why, remedy, facts, events } = explained;
  const command = kind === 'node' ? `explain node ${name}` : `explain service ${name}`;
  return (
    <>
      <p class="verdict">
        <State state={state} reason={reason} />
      </p>
      <p>{why}</p>
      {remedy !== '' && (
        <p class="remedy">
          <b>Try</b> {remedy}
        </p>
      )}
      <h3>Facts</h3>
      <dl>
        {facts.map(({ label, text }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {events.length > 0 && <h3>Events</h3>}
      <ol class="events">
        {events.map((event) => (
          <li key={`${event.time} ${event.reason} ${event.message}`} class={event.type === 'Warning' ? 'warning' : ''}>
            <Moment time={event.time} /> <b>{event.reason}</b> {event.message}
          </li>
        ))}
      </ol>
      <p class="quiet">
        <code>mooring-controller {command}</code>
      </p>
    </>
  );
}

function Moment({ time }: { time: string }) {
  const at = new Date(time);
  const valid = !Number.isNaN(at.getTime());
  return (
    <time dateTime={time} title={time}>
      {valid ? at.toLocaleTimeString('en-GB') : '?'}
    </time>
  );
}

/** The Events of the controller, newest first. */
export function Decisions({ decisions, onOpen }: { decisions: readonly Decision[]; onOpen: Open }) {
  if (decisions.length === 0) return <p class="quiet">No decision in the Events that the API server keeps.</p>;
  return (
    <ol class="events" aria-live="off">
      {decisions.map(({ key, time, type, kind, name, reason, message, count }) => (
        <li key={key} class={type === 'Warning' ? 'warning' : ''}>
          <Moment time={time} /> <b>{reason}</b>{' '}
          {kind === '' ? (
            name
          ) : (
            <button type="button" class="link" onClick={() => onOpen(kind, name)}>
              {name}
            </button>
          )}
          {count > 1 && <span class="quiet"> {count} times</span>}
          <span class="message">{message}</span>
        </li>
      ))}
    </ol>
  );
}

/** What the sandbox can break. */
export function Faults({ faults, nodes }: { faults: readonly FaultAction[]; nodes: readonly NodeRow[] }) {
  const [node, setNode] = useState('');
  const [said, setSaid] = useState('');
  const chosen = nodes.some(({ name }) => name === node) ? node : (nodes[0]?.name ?? '');
  const cause = async ({ name, title, ofNode }: FaultAction) => {
    setSaid(`${title} ...`);
    const answer = await fetch('faults', {
      method: 'POST',
      body: JSON.stringify({ action: name, node: ofNode ? chosen : '' }),
    });
    setSaid(answer.ok ? ((await answer.json()) as { readonly done: string }).done : await answer.text());
  };
  return (
    <section class="box faults" aria-labelledby="faults-title">
      <h2 id="faults-title">Break something</h2>
      <div class="buttons">
        <label>
          VM of{' '}
          <select value={chosen} onChange={({ currentTarget }) => setNode(currentTarget.value)}>
            {nodes.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {faults.map((fault) => (
          <button key={fault.name} type="button" disabled={fault.ofNode && chosen === ''} onClick={() => cause(fault)}>
            {fault.title}
          </button>
        ))}
      </div>
      <p role="status" class="quiet">
        {said || 'Only this sandbox is touched.'}
      </p>
    </section>
  );
}
