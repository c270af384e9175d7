import type { Ref } from 'preact';
import type { Head } from '../update.ts';
import { ageOf, counted, type Group, lookOf } from './groups.ts';

interface TopProps {
  readonly head: Head | undefined;
  readonly live: boolean;
  readonly nowMs: number;
  readonly text: string;
  readonly search: Ref<HTMLInputElement>;
  onText(text: string): void;
}

/** The cluster in one line, and the filter. */
export function Top({ head, live, nowMs, text, search, onText }: TopProps) {
  return (
    <header class="top">
      <h1>Mooring</h1>
      <dl>
        <div>
          <dt>API server</dt>
          <dd>{head?.server ?? '...'}</dd>
        </div>
        <div>
          <dt>Leader</dt>
          <dd>{leaderOf(head, nowMs)}</dd>
        </div>
        <div>
          <dt>Paused</dt>
          <dd>
            {head?.hidden.includes('pause') ? 'unknown: may not be read' : head?.pausedForAll ? 'everything' : 'no'}
          </dd>
        </div>
        <div>
          <dt>Page</dt>
          <dd class={live ? 'live' : 'wanting'}>{live ? 'live' : 'not connected'}</dd>
        </div>
      </dl>
      <search>
        <label for="filter">Filter</label>
        <input
          id="filter"
          ref={search}
          type="search"
          value={text}
          placeholder="name, reason, zone  ( / )"
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      </search>
    </header>
  );
}

function leaderOf(head: Head | undefined, nowMs: number): string {
  if (head === undefined) return '...';
  if (head.hidden.includes('leader')) return 'unknown: may not be read';
  if (head.leader === null) return 'none';
  const [host = '', id = ''] = head.leader.split('_');
  return `${host} ${id.slice(0, 6)}${head.renewedAt === null ? '' : `, renewed ${ageOf(head.renewedAt, nowMs)} ago`}`;
}

/** What stands in the way, in whole sentences. */
export function Notices({ head, live }: { head: Head | undefined; live: boolean }) {
  const hidden = (head?.hidden ?? []).filter((what) => ['nodes', 'services', 'events'].includes(what));
  const notices = [
    ...(live ? [] : ['The command that serves this page does not answer: what is shown may be old.']),
    ...(head?.apiFault ? [`The API server does not answer: ${head.apiFault}`] : []),
    ...(head?.leaderFault ? [`${head.leaderFault[0]?.toUpperCase()}${head.leaderFault.slice(1)}.`] : []),
    ...(head?.pausedForAll ? ['Everything is paused: nothing but reading goes on.'] : []),
    ...(hidden.length > 0
      ? [`This credential may not list or watch: ${hidden.join(', ')}. They are unknown here.`]
      : []),
  ];
  return (
    <div role="status">
      {notices.map((notice) => (
        <p key={notice} class="notice">
          {notice}
        </p>
      ))}
    </div>
  );
}

interface ChipsProps {
  readonly groups: readonly Group[];
  readonly label: string;
  readonly chosen: string | undefined;
  onChoose(key: string | undefined): void;
}

/** A button for each state and reason; pressed, only those are shown. */
export function Chips({ groups, label, chosen, onChoose }: ChipsProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be part of a form
    <div class="chips" role="group" aria-label={label}>
      {groups.map(({ key, state, reason, ok, count }) => (
        <button
          key={key}
          type="button"
          class={ok ? 'chip' : 'chip urgent'}
          aria-pressed={chosen === key}
          onClick={() => onChoose(chosen === key ? undefined : key)}
        >
          <i class={`cell ${lookOf(state)}`} />
          <b>{counted.format(count)}</b> {state}
          {reason !== '' && <span class="quiet"> {reason}</span>}
        </button>
      ))}
    </div>
  );
}
