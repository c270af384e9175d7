import { ModelError } from './instance.ts';

export interface SimulatedVolume {
  readonly id: string;
  /** `project/region`. */
  readonly place: string;
  /** Several: it is replicated; none: all of the region can use it. */
  readonly zones: readonly string[];
}

/** The volumes of a cloud. */
export interface VolumeModel {
  /** Throws a ModelError where the id is in use. */
  create(volume: SimulatedVolume): SimulatedVolume;
  get(place: string, id: string): SimulatedVolume | undefined;
  all(): SimulatedVolume[];
  forget(id: string): void;
}

export function createVolumeModel(): VolumeModel {
  const volumes = new Map<string, SimulatedVolume>();
  return {
    create(volume) {
      if (volumes.has(volume.id)) throw new ModelError('conflict', `volume ${volume.id} exists already`);
      volumes.set(volume.id, volume);
      return volume;
    },
    get(place, id) {
      const volume = volumes.get(id);
      return volume?.place === place ? volume : undefined;
    },
    all: () => [...volumes.values()],
    forget: (id) => void volumes.delete(id),
  };
}
