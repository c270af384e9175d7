import type { User } from '../auth/user.ts';
import type { JsonObject } from '../json.ts';
import type { Resource, World } from '../store/resource.ts';
import type { Collection, Stored } from '../store/store.ts';

/** What a request is about. `name` is '' for collections, `subresource` '' for the object itself. */
export interface Target {
  readonly world: World;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** Undefined = the server itself. */
  readonly user: User | undefined;
}

export function keyOf(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function collectionOf({ world, resource }: Target): Collection {
  return world.store.collection(resource.storage);
}

/** How faults of an object name its kind: by the group it is stored in. */
export function storedAs({ conversion, group, kind }: Resource): { group: string; kind: string } {
  return { group: conversion === undefined ? group : '', kind };
}

/** The stored object in the shape of the asked-for API group. */
export function viewOf(resource: Resource, stored: Stored): JsonObject {
  return resource.conversion ? resource.conversion.fromStored(stored.value) : stored.value;
}

/** @param revision 0 = of a dry run: no resourceVersion is shown */
export function makeStored(namespace: string, name: string, value: JsonObject, revision: number): Stored {
  const metadata: JsonObject = { ...(value['metadata'] as JsonObject), resourceVersion: String(revision) };
  if (revision === 0) delete metadata['resourceVersion'];
  const whole: JsonObject = { metadata, ...value };
  whole['metadata'] = metadata;
  return { key: keyOf(namespace, name), namespace, name, revision, value: whole, json: JSON.stringify(whole) };
}
