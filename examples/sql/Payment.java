// SPDX-License-Identifier: Apache-2.0
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * Books a payment and writes the value of a path, in one transaction, under a lock, by JDBC:
 *
 * <pre>java -cp /usr/share/java/mariadb-java-client.jar Payment.java \
 *     'jdbc:mariadb://HOST/shop?user=app' AMOUNT</pre>
 *
 * Lock, row, value and release take effect with the commit, or none of them does. An amount that the
 * table refuses leaves nothing behind.
 */
public class Payment {
    static void call(Connection shop, String procedure, String... arguments) throws SQLException {
        try (PreparedStatement one = shop.prepareStatement("CALL " + procedure)) {
            for (int i = 0; i < arguments.length; i++) {
                one.setString(i + 1, arguments[i]);
            }
            one.execute();
        }
    }

    public static void main(String[] arguments) throws SQLException {
        String owner = "payment/" + ProcessHandle.current().pid();
        try (Connection shop = DriverManager.getConnection(arguments[0])) {
            shop.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            shop.setAutoCommit(false);
            try (PreparedStatement row = shop.prepareStatement("INSERT INTO payments VALUES (?)")) {
                call(shop, "lk_lock_acquire('payments/last', ?, '{\"or_fail\": true}')", owner);
                row.setInt(1, Integer.parseInt(arguments[1]));
                row.execute();
                call(shop, "lk_lock_release('payments/last', ?, NULL, ?, NULL)", owner, arguments[1]);
                shop.commit();
                System.out.println("booked");
            } catch (SQLException error) {
                shop.rollback();
                System.out.println(error.getSQLState() + ": " + error.getMessage());
                System.exit(1);
            }
        }
    }
}
