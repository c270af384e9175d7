import { openMotoCloud } from '../clouds/aws/moto-cloud.ts';
import { upgradeSuite } from './upgrade-suite.ts';

upgradeSuite('moto', openMotoCloud);
