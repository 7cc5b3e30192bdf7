// Searches the best k-anonymous full-domain generalization with ARX, which is cloned and built apart; arx.py runs this.
// The arguments are k, a CSV file of labels with a header, and a file of each column's hierarchy: finest label first, between semicolons.
// Each line of standard input is a run; a JSON line answers it with the seconds and the processor's of a run of it on the
// table in memory, which encodes the table before it searches, with the seconds of the search alone by its own clock, and
// with the levels found.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.KAnonymity;

public class Anonymize {
  public static void main(String[] arguments) throws Exception {
    var data = Data.create(arguments[1], StandardCharsets.UTF_8, ',');
    for (int i = 2; i < arguments.length; i++) {
      String name = data.getHandle().getAttributeName(i - 2);
      data.getDefinition().setAttributeType(name, Hierarchy.create(arguments[i], StandardCharsets.UTF_8, ';'));
    }
    var configuration = ARXConfiguration.create();
    configuration.addPrivacyModel(new KAnonymity(Integer.parseInt(arguments[0])));
    configuration.setSuppressionLimit(0d);
    var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    var asked = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    while (asked.readLine() != null) {
      data.getHandle().release();
      long wall = System.nanoTime(), worked = system.getProcessCpuTime();
      var result = new ARXAnonymizer().anonymize(data, configuration);
      double seconds = 1e-9 * (System.nanoTime() - wall), processor = 1e-9 * (system.getProcessCpuTime() - worked);
      String levels = Arrays.toString(result.getGlobalOptimum().getTransformation());
      System.out.println("{\"seconds\": " + seconds + ", \"processor\": " + processor
          + ", \"search\": " + 1e-3 * result.getTime() + ", \"levels\": " + levels + "}");
    }
  }
}
